"""A gufunc's call with a given output took the first loop that its inputs convert to."""

SOURCE = """\
@guvectorize('(n),(n)->()')
def q0(a0, a1, c2):
    c2[0] = -+a0[-1]

@host
def main(a0, a1, m0):
    n7 = q0(a0, a1)
    n10 = q0(m0, a1, out=n7)
    return n7
"""
CALLS = [
    [
        "mk('complex64', (2, 2), 'W', '0000c03f8fe472c097b6c1c03e41e0bed5f964c47d32b6450000c07f000080bf', 0)",
        "mk('uint32', (2,), 'C', '1300000011000000', 0)",
        "mk('bool', (2,), 'B', '0001', 0)",
    ],
]
PROMOTION = 'treadle'
OPTIONS = {}
