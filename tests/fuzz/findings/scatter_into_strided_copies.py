"""Scatters in a loop over a prange into an array that is not contiguous: the copies of it for chunks had another type."""

SOURCE = """\
@parallel
def main(a0, a1, a2):
    for i6 in prange(a1[0]):
        np.multiply.at(a2, a0, 1)
"""
CALLS = [
    ["mk('int64', (9,), 'R', '1100000000000000f6ffffffffffffffffffffffffffff7f10000000000000000000000000000000faffffffffffffff13000000000000005ed6fc382923efd0f0ffffffffffffff', 0)", "mk('int64', (9,), 'C', '0100000000000080f3ffffffffffffff04000000000000000600000000000000f9ffffffffffffff060000000000000000000000000000800100000000000080ffffffffffffff7f', 0)", "mk('uint8', (6,), 'S', '13ff73010009', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 3}
