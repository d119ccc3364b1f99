"""A view with a name of its own, divided in each iteration: quotients of what is accumulated into are open in their last digits."""

SOURCE = """\
@parallel
def main(a0):
    for i4 in range(1):
        for i6 in prange(a0.shape[0]):
            w8 = a0[i6:][:1]
            w8[:] /= np.int16(i4 + 11)
"""
CALLS = [
    ["mk('float32', (5,), 'C', '0000803f0000a0400000e0400000104100001c42', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'error_model': 'numpy', 'grain': 1}
