"""The loop that stays beside a pattern with copies has a loop over a prange in it, which was taken for an outer one."""

SOURCE = """\
@parallel
def main(a0, h, n):
    for i in prange(1, a0.shape[0]):
        for k in prange(i % n):
            for j in range(a0.shape[1]):
                a0[i, j] //= 3
        h[i % 2] += i
"""
CALLS = [
    ['np.arange(20).reshape(5, 4)', 'np.zeros(2)', '7'],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 1}
