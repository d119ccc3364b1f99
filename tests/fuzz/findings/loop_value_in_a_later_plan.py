"""A loop was versioned by a test on a value of a loop that had got a copy in the same round."""

SOURCE = """\
@jit
def main(o0):
    k2 = 0
    while True:
        k2 += 1
        if k2:
            break
        v3 = o0[1]
    for i11 in range(0, 0, 3):
        if o0[k2]:
            pass
"""
CALLS = [
    ["mk('float32', (8,), 'C', 'cac20f46c11cc340ffe6db2e0f581c455bfa85c5ffe6db2ef4099bc00a2d3fc5', 1)"],
]
PROMOTION = 'treadle'
OPTIONS = {}
