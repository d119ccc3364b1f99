"""The edges of a histogram of float16 were float32, and items were counted between those."""

SOURCE = """\
@jit
def main(a0):
    t0 = np.histogram(a0, 7)
    return (t0,)
"""
CALLS = [["mk('float16', (6,), 'C', '003c00484244cd3a00b80044', 0)"]]
PROMOTION = "treadle"
OPTIONS = {"straight": True}
