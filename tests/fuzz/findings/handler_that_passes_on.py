"""A handler inside of a loop over a prange that passes exceptions on to the one around it."""

SOURCE = """\
@parallel
def main(a0, b0, b1, b2):
    try:
        r6 = 0.0
        for i4 in prange(0, 6, 2):
            try:
                x9 = i4 % 0
            except KeyError as e10:
                pass
            r6 += a0[0]
    finally:
        if b0:
            return (b0, b1, b2)
    return (b0, b1, b2)
"""
CALLS = [
    ["mk('uint32', (2,), 'C', '1300000001000000', 0)", 'np.uint32(1)', "np.complex64(complex(float('nan'), -4661.1595695049045))", 'np.bool_(True)'],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 1, 'way': 'opposite'}
