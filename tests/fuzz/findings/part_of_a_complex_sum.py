"""A part of a complex sum, taken after the loop, was moved into it, and the loop refused."""

SOURCE = """\
@parallel
def main(n):
    r = 0j
    for i in prange(0, n, 2):
        r += 0.25
    m = r.imag
    return m
"""
CALLS = [
    ['7'],
]
PROMOTION = 'treadle'
OPTIONS = {'nogil': True, 'grain': 3}
