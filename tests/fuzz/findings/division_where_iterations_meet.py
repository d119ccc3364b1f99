"""Where iterations meet, the oracle divided by Python's rules in a program that has NumPy's."""

SOURCE = """\
@parallel
def main(o0):
    for i1 in prange(len(o0)):
        w3 = o0
        w3[0] /= i1
"""
CALLS = [
    ["mk('float32', (8,), 'C', '0000c03fa27cf4be957a1dc127d0b8c00000c0bfbc569ec429c5fbc5edc2a945', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'error_model': 'numpy', 'grain': 3}
