"""A literal that the array's type cannot hold is a float at once where the operation computes in floats."""

SOURCE = """\
@jit
def main(a1):
    n3 = a1 / 65537
"""
CALLS = [
    ["mk('uint16', (3, 4, 3), 'C', '0700555510000a000c000a00feff0a001d380c0001000000555502000f0006000d004bcc0c000c0055550700feff04000600fffffeff0a00080007000a0007001300130055551200', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {}
