"""What was made and given back between two raises of one protected block: the check of reference counts took that for a loss."""

SOURCE = """\
@guvectorize('(n)->()')
def q0(a0, c1):
    c1[0] = a0[0]
    v1 = a0[1]

@jit
def main(a0, a1, a2, o0, b0, b1):
    n1 = np.zeros_like(a2)
    v2 = a2[b0 % a2.shape[0]]
    try:
        n8 = q0(n1)
    except KeyError:
        pass
    return n1
"""
CALLS = [
    ["mk('complex64', (4,), 'S', '0000807f00000040a78f194184228dc5764ed7457da8e8c00000803fddcef540', 0)", "mk('float64', (8,), 'R', '382c0f5881889c40cab60cac5bf2bcc0c29e9a20ff921ac000000000000008c08417b87f4e1abb40a41b2e3b4965be400000000000000000000000000000f03f', 0)", "mk('float64', (9,), 'C', '4d159d15e36822c0000000000000f03f000000000000f0ff40328277086508c0000000000000f0ff763b7730d142ee7ff893bed070faaa40ded28dbdd6ebb3407f0525051eeb21c0', 1)", "mk('float64', (2,), 'C', '9a28f4f436f2a6c0000000000000f03f', 0)", 'np.int8(-120)', 'np.float64(-6558.737804885448)'],
]
PROMOTION = 'treadle'
OPTIONS = {'way': 'opposite'}
