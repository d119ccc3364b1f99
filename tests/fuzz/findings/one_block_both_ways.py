"""Both ways of a branch go to one block, with different values: narrowing met each of the two edges twice, and left one constant on both."""

SOURCE = """\
@jit
def main(a0, a2, b0):
    n1 = a2
    for i7 in a0.shape:
        v9 = n1.sum()
        a2[-2] >>= np.uint8(np.int32(b0) if v9 else 3)
"""
CALLS = [
    ["mk('int64', (3, 0), 'F', '', 0)", "mk('uint8', (8,), 'C', '110613010f0dfefe', 0)", 'np.float32(-2.2689565530003497)'],
]
PROMOTION = 'treadle'
OPTIONS = {'nogil': True, 'way': 'closure'}
