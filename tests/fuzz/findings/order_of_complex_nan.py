"""A complex number with a NaN in it has no order; its real part alone decided."""

SOURCE = """\
@jit
def main(a0, b0):
    if np.less_equal(np.complex64(1) * b0, 0):
        a0[0] = 0
"""
CALLS = [
    ["mk('int16', (3, 2, 2), 'C', '0200f8fffe7f0400fe7ff4fffaff0200c663ff7f01801300', 0)", "np.float64(float('-inf'))"],
]
PROMOTION = 'treadle'
OPTIONS = {}
