"""A loop that is refused because its iterations may meet has no results to compare."""

SOURCE = """\
@parallel
def main(a2, b2):
    for i4 in prange(1, len(a2)):
        a2[1:][i4:i4 + 1][:] = 1
        a2[i4] -= b2
"""
CALLS = [
    ["mk('complex64', (2,), 'R', '0000003f419708c1a85ad7c0e217d2c5', 0)", '3.0'],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'grain': 7}
