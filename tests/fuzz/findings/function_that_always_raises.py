"""A function that always raises was put into an element-wise loop, which then had no value to store."""

SOURCE = """\
@vectorize
def q0(b0, b1):
    if np.uint64(37):
        raise RuntimeError
    s1 = 1e-40
    return s1

@host
def main(m0):
    n1 = q0(7, m0)
"""
CALLS = [
    ["mk('bool', (3, 3), 'B', '000100010101010001', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {}
