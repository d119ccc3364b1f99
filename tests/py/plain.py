"""Functions for tests that pytest must not rewrite: its assertion rewriting turns `assert` into code of its own."""


def asserting(n):
    assert n > 0, "n must be positive"
    assert n < 10
    return n
