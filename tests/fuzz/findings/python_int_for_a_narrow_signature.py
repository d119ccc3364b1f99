"""A Python int alone did not find the one signature of a ufunc that takes it by its kind."""

SOURCE = """\
@vectorize(['int16(int8)'])
def q0(x):
    return x * 2


@host
def main():
    n = q0(-3)
    return n
"""
CALLS = [
    [],
]
PROMOTION = 'treadle'
OPTIONS = {}
