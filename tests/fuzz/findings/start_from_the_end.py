"""A view that starts so many items from the end: its items are as many as iterations."""

SOURCE = """\
@parallel
def main(o0):
    w3 = o0[-1:0:1]
    for i4 in prange(0, len(w3)):
        w3[i4] = i4
"""
CALLS = [
    ["mk('float64', (4,), 'C', 'a1a0b1878bcbc2c00cde543ec29fc2c0786246e259daf33febcc8a824156c1c0', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 0}
