"""Arrays stored into views of themselves: what stands on the right is read as it was before, as NumPy has it.

The array is one that the function makes: of what is passed in, test_apart.py says more.
"""

import numpy as np
import pytest
from treadle import njit, prange

# How the array comes about: made here, made and looked at, chosen, given back by a function.
MADE = {
    "made": "n = a | 64",
    "copied": "n = a.copy()",
    "filled": "n = np.empty(a.shape, a.dtype); n[...] = a",
    "chosen": "n = a | 64 if k else a * 2",
    "turned": "n = a | 64\n    if k: n = n[::-1]",
    "in a tuple": "n = (a, a | 64)[1]",
    "given back": "n = same(a | 64)",
}
STORES = {
    "reversed": "n[::-1] = n",
    "reversed columns": "n[:, ::-1] = n",
    "both": "n[::-1, ::-1] = n",
    "by name": "v = n[::-1]\n    v[:] = n",
    "from reversed": "n[...] = n[::-1]",
    "down": "n[1:] = n[:-1]",
    "up": "n[:-1] = n[1:]",
    "transposed": "n[...] = n.T",
    "into the transposed": "n.T[...] = n",
    "row": "n[::-1] = n[0]",
    "column": "n[::-1] = n[:, :1]",
    "expression": "n[::-1] = n * 2 - 1",
    "two": "n[::-1] = n + n.T",
    "chosen by a mask": "n[::-1] = np.where(n > 70, n, n.T)",
    "in place": "n[::-1] += n",
    "in place, itself": "n += n",
    "in place, transposed": "n -= n.T",
    "to the reversed": "n += n[::-1]",
    "out": "np.negative(n, out=n[::-1])",
    "out of two": "np.add(n, n.T, out=n[::-1])",
    "clip": "np.clip(n, 1, 70, out=n[::-1])",
    "running": "np.add.accumulate(n, axis=0, out=n[::-1])",
    "sum of rows": "np.sum(n, axis=1, out=n[:, 0])",
    "product": "f = n * 1.5\n    np.matmul(f, f, out=f)\n    n[...] = f.astype(n.dtype)",
    "product, reversed": "f = n * 1.5\n    np.matmul(f, f, out=f[::-1])\n    n[...] = f.astype(n.dtype)",
    "product in place": "f = n * 1.5\n    f @= f\n    n[...] = f.astype(n.dtype)",
    "by an array": "n[np.array([3, 2, 1, 0])] = n",
    "indices by themselves": "w = n[0] & 3\n    w[w] = w\n    n[0] = w",
    "indices, reversed": "w = n[0] & 3\n    w[::-1][w] = 7\n    n[0] = w",
    "at": "w = n[0] & 3\n    np.add.at(w, w, w)\n    n[0] = w",
    "mask by itself": "m = n[0] > 70\n    m[m] = False\n    n[:, 0] = m",
    "in a loop": "for i in range(len(n)):\n        n[::-1] = n\n        n[i, ::-1] = n[i]",
}
VIEWS = {
    "C": lambda x: x[:4, :4].copy(),
    "strided": lambda x: x[::2, ::2],
    "F": lambda x: np.asfortranarray(x[:4, :4]),
    "backwards": lambda x: x[::-2, ::-2],
}


def program(made, store, decorate):
    text = f"@decorate\ndef same(x):\n    return x\n\n@decorate\ndef main(a, k):\n    {made}\n    {store}\n    return n\n"
    space = {"np": np, "decorate": decorate}
    exec(text, space)
    return space["main"]


def compare(how, store, views, parallel=False):
    plain = program(MADE[how], STORES[store], lambda f: f)
    compiled = program(MADE[how], STORES[store], njit(parallel=parallel))
    base = (np.arange(64, dtype=np.int16) * 7 % 37).reshape(8, 8)
    for view in views:
        for k in (0, 1):
            want, got = plain(VIEWS[view](base.copy()), k), compiled(VIEWS[view](base.copy()), k)
            assert np.array_equal(want, got), (how, view, k)


@pytest.mark.parametrize("store", STORES)
def test_stored_into_its_own_view(store):
    for how in MADE:
        compare(how, store, ["strided", "backwards"])
    compare("made", store, ["C"])
    compare("copied", store, ["F"])


@pytest.mark.parametrize("store", STORES)
def test_on_all_cores(store):
    compare("made", store, ["strided"], parallel=True)


def test_each_iteration_of_a_prange_has_its_own():
    def f(a):
        r = np.zeros((6, *a.shape), a.dtype)
        for i in prange(6):
            n = a | i
            n[::-1] = n
            n[:, 1:] = n[:, :-1]
            r[i] = n
        return r

    a = np.arange(24, dtype=np.int16).reshape(4, 6)[:, ::2]
    assert np.array_equal(njit(parallel=True)(f)(a), f(a))


def test_where_nothing_is_shared_nothing_is_copied():
    """What is computed goes where it is stored: arrays that are new are no reason for copies."""

    @njit
    def f(a, o):
        o[...] = a + 1
        n = np.empty_like(a)
        n[...] = a * 2
        n += a
        o[0] = n[0]

    a, o = np.arange(12.0).reshape(4, 3), np.zeros((4, 3))
    f(a, o)
    assert np.array_equal(o[1:], a[1:] + 1) and np.array_equal(o[0], a[0] * 3)
    text = "\n".join(f.inspect_ir().values())
    assert "pattern" in text and "overlap" not in text
