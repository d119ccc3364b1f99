"""prange loops that accumulate whole rows of expressions into an array, in any of the ways to write that."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from prange_check import no_array_lost, parallel  # noqa: E402
from treadle import UnsupportedError, njit, prange  # noqa: E402


@njit
def blend(a, b):
    return a * b + 1


@njit
def add_to(s, a, b):
    s += a * b


def made(body, local=False):
    """A function of these arrays whose prange loop has this body; `local`: s and t are its own."""
    scope = {"np": np, "prange": prange, "blend": blend, "add_to": add_to}
    lines = ["def f(s, t, x, w, k, c):"]
    if local:
        lines += ["    s = np.ones(x.shape[1])", "    t = np.ones((x.shape[1], x.shape[1]))"]
    lines += ["    for i in prange(len(x)):", *(f"        {line}" for line in body.split("\n"))]
    exec("\n".join([*lines, "    return s, t, c"]), scope)
    return scope["f"]


def arguments(n, m=4):
    rng = np.random.default_rng(n)
    return [
        rng.random(m) + 1,
        rng.random((m, m)) + 1,
        rng.random((n, m)) + 0.5,
        rng.random(m) + 0.5,
        rng.integers(0, m, n),
        rng.integers(0, 50, m),
    ]


def accumulated(f):
    """The arrays that have copies, and by which operation they are joined."""
    said = f.inspect("parallel", f.signatures[0])
    return (
        set(re.findall(r"'(\w+)' \((\w+)\)", said.split("copies for chunks")[-1]))
        if "copies for" in said
        else set()
    )


def run_both(f, args, rel=1e-11):
    mine, theirs = ([a.copy() for a in args] for _ in range(2))
    got, want = f(*mine), f.py_func(*theirs)
    for g, w in zip([*mine, *got], [*theirs, *want], strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=rel if g.dtype.kind in "fc" else 0, atol=0)


# What an iteration does, and into which arrays that is found to accumulate.
FORMS = {
    "s += x[i] * w": "s add",
    "s += x[i] * w[0] + 2": "s add",
    "s -= x[i] * w": "s add",
    "s *= 1 + x[i] * w / 1000": "s mul",
    "s /= 1 + x[i] / 1000": "s mul",
    "s += i": "s add",
    "s += x[i].sum()": "s add",
    "s += x[i, :1]": "s add",
    "s += x[i, ::-1] * w": "s add",
    "s += np.zeros(4)": "s add",
    "s += np.sqrt(x[i]) + np.exp(w)": "s add",
    "s += np.where(x[i] > 1, x[i], 0)": "s add",
    "s += x[i] > w": "s add",
    "s += np.cumsum(x[i])": "s add",
    "s += np.dot(t * 0 + 2, x[i])": "s add",
    "s += (x * x[i]).sum(axis=0)": "s add",
    "s += blend(x[i], w)": "s add",
    "add_to(s, x[i], w)": "s add",
    "s[:] += x[i] * w": "s add",
    "s[...] += x[i] * w": "s add",
    "s[1:3] += x[i, 1:3] * w[1:3]": "s add",
    "s[::2] += x[i, ::2] * w[::2]": "s add",
    "s[1:] += x[i, 1:] * w[1:]\ns += x[i]": "s add",
    "s[:] = s + x[i] * w": "s add",
    "s[:] = x[i] * w + s": "s add",
    "s[1:3] = s[1:3] + w[1:3]": "s add",
    "s[:] = np.maximum(s, x[i] * w)": "s max",
    "np.add(s, x[i] * w, out=s)": "s add",
    "np.add(x[i] * w, s, s)": "s add",
    "np.subtract(s, x[i] * w, out=s)": "s add",
    "np.maximum(s, x[i] * w, out=s)": "s max",
    "np.minimum(w * x[i], s, out=s)": "s min",
    "s[k[i]] = max(s[k[i]], w[i % 4])": "s max",
    "s[k[i]] = np.minimum(w[i % 4], s[k[i]])": "s min",
    "if x[i, 0] > s[k[i]]:\n    s[k[i]] = x[i, 0]": "s max",
    "if i % 2 and s[0] > x[i, 1]:\n    s[0] = x[i, 1]": "s min",
    "s[k[i]] += w[i % 4]": "s add",
    "s[k[i]] += w[i % 4]\ns += x[i] * w": "s add",
    "y = x[i] * w\ns += y\ns += y * 2": "s add",
    "v = s[1:]\nv += x[i, 1:] * w[1:]": "s add",
    "for j in range(3):\n    s += x[i] * w[j]": "s add",
    "for j in prange(3):\n    s += x[i] * w[j]": "s add",
    "if i % 3:\n    s += x[i] * w": "s add",
    "s += x[i] * w if x[i, 0] > 1 else w": "s add",
    "t += np.outer(x[i], x[i])": "t add",
    "t += np.outer(x[i] - w, w)": "t add",
    "t += x[i][:, None] * w": "t add",
    "t[:, 1] += x[i] * i": "t add",
    "t[i % 2] += x[i] * w": "t add",
    "t[:, k[i]] += x[i] * w": "t add",
    "t.T[0] += x[i] * w": "t add",
    "t += x[i]\ns -= x[i] * w": "s add, t add",
    "s = s + x[i] * w": "s add",
    "s = x[i] + s": "s add",
    "s = s - x[i] * w": "s add",
    "s = s * (1 + x[i] / 1000)": "s mul",
    "s = np.maximum(s, x[i] * w)": "s max",
    "s = np.minimum(x[i], s)": "s min",
    "s = s + x[i]\ns = w + s": "s add",
    "if i % 2:\n    s = s + x[i]\n    t = t - x[i]": "s add, t add",
    "s = s + x[i] if i % 2 else s - w": "s add",
    "for j in range(3):\n    s = s + x[i] * w[j]": "s add",
    "for j in prange(3):\n    s = s + x[i] * w[j]": "s add",
    "c += k[i]": "c add",
    "c -= i + 3": "c add",
    "c *= 1 + k[i]": "c mul",
    "c ^= i": "c xor",
    "c |= 1 << (i % 60)": "c or",
    "c[1:] &= i | 12": "c and",
    "np.maximum(c, i % 60, out=c)": "c max",
    "c = c + k[i] * 3": "c add",
}


@pytest.mark.parametrize("body", FORMS)
@pytest.mark.parametrize("local", [False, True])
def test_forms(body, local, threads):
    f = parallel(made(body, local))
    for n in (3, 0, 1, 200):
        run_both(f, arguments(n))
    assert {" ".join(a) for a in accumulated(f)} == set(FORMS[body].split(", "))


# What iterations hand on in another way: the error's text and what it advises.
REFUSED = {
    "s += s": ("the same element of 's'", r"to accumulate, use \+="),
    "s -= s * 0.5": ("the same element of 's'", "values that are not made of 's'"),
    "s += s[0]": (
        "the same element of 's'",
        "iterations accumulate into 's'|values that are not made of 's'",
    ),
    "s *= s + x[i]": ("the same element of 's'", "values that are not made of 's'"),
    "s[1:] += s[:-1]": ("an element of 's'|the same element", "values that are not made of 's'"),
    "s[1:] += s[:1]": ("the same element of 's'", "values that are not made of 's'"),
    "s //= x[i]": ("the same element of 's'", "values that are not made of 's'"),
    "s[:] = x[i] - s": ("the same element of 's'", "values that are not made of 's'"),
    "np.fmax(s, x[i], out=s)": ("the same element of 's'", "np.maximum"),
    "s += x[i]\ns *= 2": (
        "the same element of 's'",
        r"line 4 does it by another: use an array of its own for each",
    ),
    "s += x[i] * w\nt[k[i]] = s": ("the same element of 's'", "line 4 uses it in another way"),
    "s += x[i] * w\nnp.maximum(s, x[i], out=s)": ("the same element of 's'", "line 4 does it by another"),
    "y = s + x[i]\ns += x[i]\ns[:] = y": ("the same element of 's'", "values that are not made of 's'"),
    "y = s + x[i]\ns[:] = y\nt[0] += y": ("the same element of 's'", "use"),
    "s = x[i] - s": ("'s' is handed from one iteration", r"`s \+= x`.*np.maximum\(s, x, out=s\)"),
    "s = s + s * x[i]": ("'s' is handed from one iteration", r"`s \+= x`"),
    "s = s + x[i]\ns = s * w": ("'s' is handed from one iteration", r"`s \+= x`"),
    "y = s\ns = s + x[i]\nt[0] += y": ("'s' is handed from one iteration", r"`s \+= x`"),
    "y = s + x[i]\nt[0] += y\ns = y": ("'s' is handed from one iteration", r"`s \+= x`"),
    "s = np.fmax(s, x[i])": ("'s' is handed from one iteration", r"`s \+= x`"),
}


@pytest.mark.parametrize("body", REFUSED)
@pytest.mark.parametrize("local", [False, True])
def test_what_is_refused_says_what_to_write(body, local):
    text, advice = REFUSED[body]
    advice = advice.replace("line 4", "line 6") if local else advice
    with pytest.raises(UnsupportedError) as e:
        parallel(made(body, local))(*arguments(9))
    said = str(e.value)
    assert re.search(text, said.splitlines()[0]) and re.search("= help: .*(" + advice + ")", said)
    assert body.splitlines()[0] in said or body.splitlines()[-1] in said or "<string>" in said


STEPS = {
    "s += x[i] * w": "iufc",
    "s -= w * x[i]": "iufc",
    "s *= x[i] + w": "iufc",
    "s /= x[i] * 0.01 + 1": "fc",
    "s |= x[i] & w": "iub",
    "s &= x[i] | w": "iub",
    "s ^= x[i]": "iub",
    "np.maximum(s, x[i] + w, out=s)": "iuf",
    "np.minimum(s, x[i], out=s)": "iufb",
    "s[1:] += x[i, 1:] + w[1:]": "iuf",
    "s[::2] -= x[i, ::2]": "iufc",
    "s[k[i]] += x[i, 0]": "iuf",
    "s[k[i]] = max(s[k[i]], x[i, 0])": "iuf",
    "s[:] = s + x[i] * w": "iuf",
}
TYPES = ["?", "i1", "u2", "i4", "i8", "u8", "f4", "f8", "c8", "c16"]
COMPILED = {body: parallel(made(body)) for body in STEPS}


def laid_out(a, how):
    """The same elements, side by side or apart."""
    if how == "apart":
        out = np.zeros(3 * a.size, a.dtype)[::3]
        out[...] = a
        return out
    return a[::-1].copy()[::-1] if how == "backwards" else a.copy()


@settings(deadline=None)
@given(
    st.sampled_from(sorted(STEPS)),
    st.sampled_from(TYPES),
    st.integers(0, 70),
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["side by side", "apart", "backwards"]),
)
def test_any_type_and_size(body, dtype, n, m, seed, how):
    """Integers and booleans are those of a plain loop, to the bit; floats as near as sums in another order are."""
    kind = np.dtype(dtype).kind
    if kind not in STEPS[body]:
        return
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        if kind == "b":
            return rng.random(shape) < 0.5
        if kind in "iu":
            return rng.integers(0, 100, shape).astype(dtype)
        return (0.5 + rng.random(shape) + (1j * rng.random(shape) if kind == "c" else 0)).astype(dtype)

    args = [numbers(m), np.zeros((1, 1)), numbers(n, m), numbers(m), rng.integers(0, m, n), np.zeros(1)]
    mine, theirs = ([laid_out(a, how) if i == 0 else a.copy() for i, a in enumerate(args)] for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        COMPILED[body].py_func(*theirs)
    COMPILED[body](*mine)
    if kind in "fc":
        np.testing.assert_allclose(mine[0], theirs[0], rtol=2e-4 if dtype in ("f4", "c8") else 1e-11)
    else:
        np.testing.assert_array_equal(mine[0], theirs[0])


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(0, 5), st.integers(1, 8))
def test_arrays_that_share_memory(seed, a, b, n):
    """What an iteration reads may be what another one adds to: they run in order then, with the results of a plain loop."""
    whole = np.random.default_rng(seed).integers(0, 9, 40).astype(np.float64)
    mine, theirs = whole.copy(), whole.copy()
    for f, memory in ((shared, mine), (shared.py_func, theirs)):
        f(memory[a : a + 4], memory[b : b + 4 * n].reshape(n, 4))
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@parallel
def shared(s, x):
    for i in prange(len(x)):
        s += x[i] * 2
        s[1:] -= x[i, :3] * 3


def test_results_do_not_depend_on_the_number_of_threads():
    f = parallel(made("s += x[i] * w\nt -= np.outer(x[i], w)\nnp.maximum(c, k[i], out=c)"))
    seen = set()
    before = treadle.get_num_threads()
    for n in range(1, before + 1):
        treadle.set_num_threads(n)
        args = arguments(5000)
        f(*args)
        seen.add(b"".join(args[k].tobytes() for k in (0, 1, 5)))
    treadle.set_num_threads(before)
    assert len(seen) == 1


def test_nan_stays_where_numpy_keeps_it(threads):
    kept = parallel(made("np.maximum(s, x[i], out=s)"))
    passed = parallel(made("for j in range(4):\n    s[j] = max(s[j], x[i, j])"))
    tested = parallel(made("for j in range(4):\n    if x[i, j] < s[j]:\n        s[j] = x[i, j]"))
    for f in (kept, passed, tested):
        args = arguments(300)
        args[0][2] = np.nan
        args[2][[17, 290], [1, 3]] = np.nan
        args[2][40] = -np.inf
        run_both(f, args)
    assert [accumulated(f) for f in (kept, passed, tested)] == [
        {("s", "max")},
        {("s", "max")},
        {("s", "min")},
    ]


def test_an_array_of_ones_own_stays_where_no_iteration_runs():
    @parallel
    def f(s, x):
        r = s
        for i in prange(len(x)):
            r = r + x[i]
        r[0] = -1
        return r

    for n in (0, 1, 100):
        s, x = np.ones(3), np.ones((n, 3))
        r = f(s, x)
        assert r.tolist() == [-1, n + 1, n + 1]
        assert s.tolist() == ([-1, 1, 1] if n == 0 else [1, 1, 1])  # without an iteration r is s


def test_an_array_that_would_grow_is_refused_when_it_does():
    @parallel
    def f(s, x):
        for i in prange(len(x)):
            s = s + x[i]
        return s

    np.testing.assert_array_equal(f(np.ones(4), np.ones((7, 1))), np.full(4, 8.0))
    with no_array_lost(least=1), pytest.raises(UnsupportedError, match="an axis of size 1 would get size 4"):
        f(np.ones(1), np.ones((7, 4)))
    with pytest.raises(ValueError, match="could not be broadcast"):
        f(np.ones(3), np.ones((7, 4)))


def test_epochs_and_layouts_of_arrays_made_anew(threads):
    @parallel
    def f(s, x, epochs):
        for _ in range(epochs):
            for i in prange(len(x)):
                s = s + x[i].T * 0.5
            s = s / 2
        return s

    x = np.random.default_rng(0).random((40, 3, 3))
    for s in (np.ones((3, 3)), np.asfortranarray(np.arange(9.0).reshape(3, 3)), np.ones((6, 3))[::2]):
        for array in (x, x[:0]):
            np.testing.assert_allclose(f(s, array, 3), f.py_func(s, array, 3), rtol=1e-12)


def test_views_from_outside(threads):
    """Each copy has its own views, those that the loop uses."""

    @parallel
    def f(a, x, k):
        rows = a.reshape(-1, 4)
        second = rows[1:3][:, ::2]
        for i in prange(len(x)):
            rows[k[i]] += x[i]
            a[3] += 1
            a[i % 5 :: 4] -= 2
            second[0, 1] += 3
            second += x[i, 0]

    rng = np.random.default_rng(1)
    x, k = rng.random((200, 4)), rng.integers(0, 5, 200)
    mine, theirs = np.arange(20.0), np.arange(20.0)
    f(mine, x, k)
    f.py_func(theirs, x, k)
    np.testing.assert_allclose(mine, theirs, rtol=1e-11)
    assert accumulated(f) == {("a", "add")}


def test_layouts_of_tables(threads):
    f = parallel(made("t[k[i]] += x[i] * w\nt[:, 1] += x[i]\nt += 0.5"))
    for layout in (np.asfortranarray, lambda t: np.repeat(t, 2, 0)[::2], lambda t: t[::-1]):
        args = arguments(150)
        mine, theirs = layout(args[1].copy()), layout(args[1].copy())
        f(args[0], mine, *args[2:])
        f.py_func(args[0], theirs, *args[2:])
        np.testing.assert_allclose(mine, theirs, rtol=1e-11)
        assert accumulated(f) == {("t", "add")}


def test_read_only_arrays():
    f = parallel(made("s += x[i] * w"))
    args = arguments(20)
    args[0].flags.writeable = False
    with pytest.raises((TypeError, ValueError, treadle.TypingError), match="read-only"):
        f(*args)
    args = arguments(20)
    for k in (2, 3):
        args[k].flags.writeable = False
    want = args[0] + (args[2] * args[3]).sum(axis=0)
    np.testing.assert_allclose(f(*args)[0], want, rtol=1e-12)


def test_an_iteration_that_raises_leaves_the_array_as_it_was():
    @parallel
    def f(s, x):
        for i in prange(len(x)):
            if x[i, 0] < 0:
                raise ValueError("negative")
            s += x[i] * 2

    s, x = np.ones(3), np.ones((500, 3))
    x[400] = -1
    with no_array_lost(least=1), pytest.raises(ValueError, match="negative"):
        f(s, x)
    np.testing.assert_array_equal(s, 1)


def test_loops_within_functions_that_are_called(threads):
    inner = parallel(made("s += x[i] * w"))

    @njit(parallel=True, fastmath=True)
    def outer(s, t, x, w, k, c):
        for _ in range(3):
            inner(s, t, x, w, k, c)
        return s * 2

    @njit(nogil=True)
    def serial(s, t, x, w, k, c):
        inner(s, t, x, w, k, c)
        return s + 1

    for f in (outer, serial):
        mine, theirs = arguments(300), arguments(300)
        np.testing.assert_allclose(f(*mine), f.py_func(*theirs), rtol=1e-11)
        np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-11)


def test_in_another_process_by_the_cache(tmp_path):
    source = tmp_path / "rows.py"
    source.write_text(
        "import numpy as np\nfrom treadle import njit, prange\n\n@njit(parallel=True, cache=True)\n"
        "def f(x, w):\n    s = np.zeros(x.shape[1])\n    for i in prange(len(x)):\n        s += x[i] * w\n    return s\n\n"
        "print(f(np.ones((500, 3)), np.arange(3.0)).tolist())\n"
    )
    said = [
        subprocess.run([sys.executable, str(source)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert all(text.startswith("[0.0, 500.0, 1000.0]") for text in said)
