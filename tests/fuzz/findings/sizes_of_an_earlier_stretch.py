"""Sizes that agree in one version of an expression were taken for those of its result in a later expression, whatever version had run."""

SOURCE = """\
@jit
def main(a0, a1):
    n7 = a0 ^ a0[0, :1]
    n8 = np.bitwise_xor(a0 % a0[0], (0.0 if a1[0] else 1) != a0[::-1])
    return n8
"""
CALLS = [
    ["mk('uint16', (4, 2, 4), 'R', '00000b005555120009000200feff5555ffff9cfe0a00feff020000000d000900060000000000feff32e155551000080006005555000005000a000c0011000100', 0)", "mk('int32', (6,), 'C', '0500000001000000000000800000008012000000feffffff', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {}
