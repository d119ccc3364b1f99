"""A literal among the choices of np.choose takes the type of the others."""

SOURCE = """\
@jit
def main(a0, a1):
    n1 = np.choose(a1 % 2, (a0[0], 2.5))
    n2 = np.choose(a1 % 2, (3, a0))
    return (n1, n2)
"""
CALLS = [
    ["mk('float32', (3,), 'C', '000000000000803f00000040', 0)", "mk('int64', (3,), 'C', '000000000000000001000000000000000200000000000000', 0)"],
]
PROMOTION = "treadle"
OPTIONS = {}
