"""The handler of a try in an iteration never went on, and was taken for one around the loop: what raised before the try came to it as well."""

SOURCE = """\
@parallel
def main(a0, b0):
    for i1 in prange(1):
        if a0[b0]:
            pass
        try:
            v6 = 0 % b0
        finally:
            v8 = int(np.uint64(b0))
"""
CALLS = [
    ["mk('float32', (9,), 'C', '86e60ec6e6b1617feb69a543000040400000804000000080316ad1c5784b09c1ca020000', 0)", 'np.int64(-14)'],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 3}
