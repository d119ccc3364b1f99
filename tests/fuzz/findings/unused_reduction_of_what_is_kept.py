"""A reduction of what a mask keeps, whose value nobody used: what took the value out was removed twice, and the compiler crashed."""

SOURCE = """\
@jit
def main(a1):
    n6 = a1 >= 1
    v7 = a1[n6].any()
"""
CALLS = [
    ["mk('int32', (2,), 'C', '0700000006000000', 1)"],
]
PROMOTION = 'treadle'
OPTIONS = {}
