"""bool with an unsigned integer computed as uint64."""

SOURCE = """\
@jit
def main(b, u):
    return b - u, u & b, -b
"""
CALLS = [
    ['True', 'np.uint8(3)'],
]
PROMOTION = 'treadle'
OPTIONS = {}
