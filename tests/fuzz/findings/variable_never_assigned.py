"""A variable that no path assigns once a condition of constants is known: refused when compiling, CPython raises."""

SOURCE = """\
@parallel
def main():
    v1 = True
    if 2.0 <= (v1 if np.uint8(98) else v1):
        r12 = 0.0
        for i11 in prange(0):
            r12 -= 0.25
    return r12
"""
CALLS = [
    [],
]
PROMOTION = 'treadle'
OPTIONS = {'inline': 'always', 'grain': 1, 'way': 'opposite'}
