"""np.nextafter of float16 and an integer of one byte, or a truth value, was float32."""

SOURCE = """\
@jit
def main(a0, a1, a2):
    t0 = np.nextafter(a0, a1)
    t1 = np.nextafter(a2, a0)
    return (t0, t1)
"""
CALLS = [["mk('float16', (2,), 'C', '003c0048', 0)", "mk('int8', (2,), 'C', '05fe', 0)", "mk('bool', (2,), 'C', '0100', 0)"]]
PROMOTION = "treadle"
OPTIONS = {"straight": True}
