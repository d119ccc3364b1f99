"""A step of 0 in a variable was refused when compiled; it is a ValueError of the line, where that is reached."""

SOURCE = """\
@jit
def main(a0, k):
    r = 0
    if k:
        return a0[1:7:r].size
    return a0[::2].size
"""
CALLS = [
    ["np.arange(9.0)", "0"],
    ["np.arange(9.0)", "1"],
]
PROMOTION = 'treadle'
OPTIONS = {}
