"""A loop whose iterations meet through views is refused when it is compiled: for a declared signature, that is before the call."""

SOURCE = """\
@parallel
def main(o0):
    for i5 in prange(0, len(o0), 1):
        o0[i5:i5 + 2][:1][:] = 3
        o0[1:][i5:i5 + 1][:] = 0.1
        o0[i5] -= 1.0
"""
CALLS = [
    ["mk('float64', (4,), 'C', '000000000000f0ff9e8a89479666abc00000000000000000a4baf2286940a740', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'signature': '(float64[::1],)', 'grain': 1}
