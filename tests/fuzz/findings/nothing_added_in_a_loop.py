"""Adding 0 to an array in a prange loop was refused: what is left of it, a copy onto itself, was not seen to be a sum."""

SOURCE = """\
@parallel
def main(a0, o0):
    for i1 in prange(len(o0)):
        a0 += 0
"""
CALLS = [
    ["mk('uint8', (3, 3), 'C', '0d0614fe1205090055', 1)", "np.arange(40.0)"],
]
PROMOTION = "treadle"
OPTIONS = {"grain": 3}
