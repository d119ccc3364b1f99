"""The printed type of a slice with constant bounds did not parse."""

SOURCE = """\
@jit
def main(a, b):
    a[5:b:3] = 1
"""
CALLS = [
    ["mk('int8', (9,), 'C', '010203040506070809')", 'np.int8(8)'],
]
PROMOTION = 'treadle'
OPTIONS = {}
