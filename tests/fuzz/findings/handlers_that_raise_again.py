"""A handler in a loop over a prange that only raises again, to another one, was taken for what surrounds the loop."""

SOURCE = """\
class E2(Exception):
    pass

@parallel
def main(a0, a1, a2, b0):
    try:
        r4 = 0
        for i3 in prange(0, 0):
            try:
                r4 -= i3 % 0
            except KeyError as e7:
                if i3 % 0:
                    pass
                else:
                    pass
    except E2:
        pass
    else:
        pass
"""
CALLS = [
    ["mk('uint16', (5,), 'C', '00001000555507000d00', 0)", "mk('uint64', (7,), 'C', 'ffffffffffffffff030000000000000001000000000000000000000000000000020000000000000002000000000000000900000000000000', 0)", "mk('float64', (5, 2), 'C', '000000000000f87fce82b909c451acc000000000000000000100000000000000e8b47c5ee3af21404e7ea1c555b2bec02083e56e392bfd3f58849d0e3061bb40000000000000e0bfe61528a549e71640', 1)", '0.0'],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'signature': '(uint16[::1], uint64[::1], float64[:, ::1], float64)', 'grain': 3}
