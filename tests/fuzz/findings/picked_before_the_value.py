"""What is picked is read before the value: the index fails first (the oracle had it the other way)."""

SOURCE = """\
@jit
def main(a1, b1):
    b0 = b1
    n3 = np.arange(3)
    a1[n3] += b0 % 0
"""
CALLS = [
    ["mk('complex64', (0, 0), 'C', '', 0)", 'np.uint64(18446744073709551614)'],
]
PROMOTION = 'treadle'
OPTIONS = {'way': 'argument'}
