"""An exponent of uint64 that does not fit int64 was taken for a negative one, and the power for 0."""

SOURCE = """\
@jit
def main(b0):
    v1 = np.int32(b0)
    v1 **= b0 ** 5
    return v1
"""
CALLS = [
    ['np.uint64(6148914691236517205)'],
]
PROMOTION = 'treadle'
OPTIONS = {}
