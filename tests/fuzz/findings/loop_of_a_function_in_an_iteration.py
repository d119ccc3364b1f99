"""A loop over a prange in a function that an iteration calls changed the number of the iteration, so the oracle missed that iterations met."""

SOURCE = """\
@parallel
def h0(pb0):
    for i1 in prange(19):
        pass

@parallel
def main(a0, o0, b0):
    v1 = b0
    for i4 in prange(len(o0)):
        for x10, y11 in zip(a0, a0):
            v14 = h0(a0)
            o0[i4:][1:] += x10
        o0[i4] = v1
"""
CALLS = [
    ["mk('uint32', (9,), 'C', '010000000f0000000e000000030000005555555513000000060000000c000000ffffffff', 0)", "mk('float32', (7,), 'R', '98619ac48670be45e6b1617fe18d2d45c44abfc5b7e41b46e6b161ff', 0)", '7'],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'inline': 'always', 'grain': 0}
