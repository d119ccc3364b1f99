"""A constant on its way through complex64 was not rounded."""

SOURCE = """\
@jit
def main():
    v = np.complex128(np.complex64(0.1))
    return v
"""
CALLS = [[]]
PROMOTION = 'treadle'
OPTIONS = {}
