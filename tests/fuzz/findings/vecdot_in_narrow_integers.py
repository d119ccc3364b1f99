"""np.linalg.vecdot sums in the type of its arguments."""

SOURCE = """\
@jit
def main(a0):
    n1 = np.linalg.vecdot(a0, a0)
    return n1
"""
CALLS = [
    ["mk('uint16', (2, 3), 'C', '640064006400640064006400', 0)"],
]
PROMOTION = "treadle"
OPTIONS = {}
