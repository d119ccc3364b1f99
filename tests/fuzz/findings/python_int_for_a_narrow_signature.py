"""A Python int alone did not find the one signature of a ufunc that takes it by its kind; nor where the result is converted for `out`."""

SOURCE = """\
@vectorize(['int16(int8)'])
def q0(x):
    return x * 2


@host
def main(a0):
    n = q0(-3)
    m = q0(3, out=a0)
    return n
"""
CALLS = [
    ["np.zeros(3, np.float32)"],
]
PROMOTION = 'treadle'
OPTIONS = {}
