"""A polynomial without coefficients has no first one."""

SOURCE = """\
@jit
def main(a0, a1):
    t1 = np.polydiv(a0, a1)
    return t1
"""
CALLS = [
    ["mk('float64', (3,), 'C', '0000000000000000000000000000f03f0000000000000040', 0)", "mk('float64', (0,), 'C', '', 0)"],
]
PROMOTION = "treadle"
OPTIONS = {}
