"""A ufunc reduces to what it gives last, whatever that was before: an order, but no scan that looks back."""

SOURCE = """\
@vectorize
def q0(b0, b1):
    v1 = 0.0
    return v1

@guvectorize('(n),()->(n)', target='parallel')
def q1(a0, a1, c2):
    pass

@host
def main(a1):
    n1 = q0.reduce(a1, axis=0, keepdims=True)
"""
CALLS = [
    ["mk('int32', (3,), 'M', '0c000000faffffffaaaaaa2a', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'grain': 2}
