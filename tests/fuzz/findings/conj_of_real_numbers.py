"""The method conj of an array of real numbers is the array itself: what is stored to it shows in the array."""

SOURCE = """\
@jit
def main(a0):
    n1 = a0.conj()
    n1[0] = 2.0
    return n1
"""
CALLS = [
    ["mk('float64', (3,), 'C', '0000000000000000000000000000f03f0000000000000040', 0)"],
]
PROMOTION = "treadle"
OPTIONS = {}
