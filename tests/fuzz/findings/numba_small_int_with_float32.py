"""Numba keeps float32 for small integers with float32, but not for uint16."""

SOURCE = """\
@jit
def main(i, u, f):
    return i * f, u * f
"""
CALLS = [
    ['np.int8(3)', 'np.uint16(3)', 'np.float32(0.1)'],
]
PROMOTION = 'numba'
OPTIONS = {}
