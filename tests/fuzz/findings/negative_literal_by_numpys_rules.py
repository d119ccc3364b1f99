"""A negative literal beside an unsigned number is an int64, whatever the error model."""

SOURCE = """\
@parallel
def main(a0):
    r4 = np.uint64(255)
    for i8 in prange(1):
        a0[i8] = r4 % -3
"""
CALLS = [
    ["mk('int64', (3, 4), 'C', '1200000000000000aaaaaaaaaaaaaa2aaaaaaaaaaaaaaa2af7fffffffffffffff0ffffffffffffff0800000000000000aaaaaaaaaaaaaa2aaaaaaaaaaaaaaa2a1300000000000000fdffffffffffffffaaaaaaaaaaaaaa2a0400000000000000', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'error_model': 'numpy', 'inline': 'always', 'grain': 1}
