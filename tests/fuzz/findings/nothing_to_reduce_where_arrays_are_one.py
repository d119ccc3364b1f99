"""A loop of no rounds that reduces, over arrays that are one and so in order: what counts its ranges divided by 0."""

SOURCE = """\
G0 = 6

@parallel
def main(a0, a1, a2, o0):
    r2 = 100
    for i1 in prange(2, len(o0)):
        if a2[2]:
            o0[i1] = 0
        else:
            x7 = G0
            if x7 > r2:
                r2 = x7
    return r2
"""
CALLS = [
    ["mk('uint32', (7,), 'F', '13000000555555550800000013000000ffffffff010000000f000000', 0)", "mk('int64', (5,), 'C', '0a00000000000000000000000000008001000000000000000000000000000080aaaaaaaaaaaaaa2a', 0)", "mk('float32', (2,), 'C', 'e6b161ff000080c0', 1)", 'A[2]'],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'grain': 1}
