"""int64 and uint64 meet as float64 in Numba."""

SOURCE = """\
@jit
def main(c, u):
    return 1 if c else u
"""
CALLS = [
    ['False', 'np.uint64(3)'],
]
PROMOTION = 'numba'
OPTIONS = {}
