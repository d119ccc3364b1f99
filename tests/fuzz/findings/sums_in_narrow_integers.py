"""Elements of narrow integers, and a sum found out in several blocks; threads met in the array."""

SOURCE = """\
@parallel
def main(a0, h0, h1):
    for i in prange(len(a0)):
        h0[a0[i]] += 1
        h1[a0[i]] -= 3 if i % 3 == 0 and a0[i] > 1 else a0[i]
"""
CALLS = [
    ['np.arange(60) % 4', 'np.zeros(4, np.uint8)', 'np.zeros(5, np.int32)'],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 1}
