"""A sum of a loop with two versions went through the next loop's head, which was refused for it."""

SOURCE = """\
@parallel
def main(a0, b0):
    r = 1
    for i in prange(len(a0)):
        a0[i, 1] = b0
        r *= b0
    for j in prange(len(a0)):
        pass
    return r
"""
CALLS = [
    ['np.ones((2, 4), np.complex64)', 'np.bool_(True)'],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 2}
