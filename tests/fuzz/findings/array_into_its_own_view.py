"""An array that the function makes, stored into a view of itself, was read after it was written."""

SOURCE = """\
@jit
def main(a0, b0):
    n1 = (a0 | 1000)
    n1[::-1] = n1
    return n1
"""
CALLS = [
    ["mk('int16', (4, 3), 'S', 'ff7f0180edfffbff01000080f8ff0080eeff0180efffffff', 0)", 'False'],
]
PROMOTION = 'treadle'
OPTIONS = {'way': 'late'}
