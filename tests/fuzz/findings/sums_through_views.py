"""What is only accumulated into, by views that the loop makes, may be added up in another way as well; the oracle had it exact."""

SOURCE = """\
@parallel
def main(a1, b17):
    for i1 in prange(2, a1.shape[0]):
        a1[i1:i1 + 2][:1] += b17
        a1[i1] -= b17
"""
CALLS = [
    ["mk('float32', (8,), 'C', 'ffe6db2effe6db2effe6db2effe6db2effe6db2effe6db2effe6db2effe6db2e', 0)", 'True'],
]
PROMOTION = 'treadle'
OPTIONS = {'views': True, 'grain': 3}
