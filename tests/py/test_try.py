"""try, except, else, finally, raise in compiled functions: against CPython, which runs the same functions."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import guvectorize, njit, prange, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from on_stack import on_stack  # noqa: E402
from raising import READY, Base, Both, Coded, Derived, Keyed, alike, came  # noqa: E402

# --- classes ---


def by_class(k):
    try:
        if k == 0:
            raise Base
        if k == 1:
            raise Derived(k)
        if k == 2:
            raise Keyed("k", k)
        if k == 3:
            raise Both()
        if k == 4:
            raise ZeroDivisionError
        if k == 5:
            raise READY
        if k == 6:
            raise Coded(k)
        if k == 7:
            raise OSError(k)
    except Derived:
        return 1
    except (LookupError, ArithmeticError):
        return 2
    except Base:
        return 3
    except Exception:
        return 4
    return 5


def by_other_class(k):
    try:
        by_class_raise(k)
    except (KeyError, Derived, OverflowError):
        return 1
    except IndexError:
        return 2
    return 3


@njit
def by_class_raise(k):
    if k == 1:
        raise Derived(k)
    if k == 2:
        raise Keyed("k", k)
    if k == 3:
        raise Both(k, 2.5)
    if k == 4:
        raise Base(k)


def everything(k):
    try:
        by_class_raise(k)
    except:  # noqa: E722
        return -k
    return k


def test_classes_match_as_in_python():
    alike(by_class, *[(k,) for k in range(9)])
    alike(by_other_class, *[(k,) for k in range(6)])
    alike(everything, *[(k,) for k in range(6)])


def axis_errors(k):
    try:
        if k:
            raise np.exceptions.AxisError("axis")
    except ValueError:
        return 1
    return 0


def warnings_too(k):
    try:
        if k == 1:
            raise RuntimeWarning("w")
        if k == 2:
            raise UnicodeError("u")
    except Warning:
        return 1
    except ValueError:
        return 2
    return 0


def base_classes(k):
    try:
        if k == 1:
            raise KeyboardInterrupt
        if k == 2:
            raise ValueError
    except Exception:
        return 1
    except BaseException:
        return 2
    return 0


def test_classes_of_others():
    alike(axis_errors, (0,), (1,))
    alike(warnings_too, (0,), (1,), (2,))
    alike(base_classes, (0,), (1,), (2,))


# --- what raises ---


def an_index(a, i):
    try:
        return a[i]
    except IndexError:
        return -1.0


def a_division(x, y):
    try:
        return x // y + x % y
    except ZeroDivisionError:
        return -1


def shapes(x, y):
    try:
        return (x + y * 2).sum()
    except ValueError:
        return -1.0


def sizes(n):
    try:
        return len(np.zeros(n))
    except MemoryError:
        return -1
    except ValueError:
        return -2


def unassigned(n):
    try:
        if n > 2:
            v = n
        return v
    except UnboundLocalError:
        return -1


def of_none(n):
    x = None if n else 3
    try:
        return x + 1
    except TypeError:
        return -1


def a_power(x, y):
    try:
        return np.ones(3)[:x] @ np.ones(y)
    except ValueError:
        return -5.0


def test_what_compiled_code_raises_by_itself_is_caught():
    a = np.arange(4.0)
    alike(an_index, (a, 1), (a, 4), (a, -4), (a, -5), boundscheck=True)
    alike(a_division, (7, 2), (7, 0))
    alike(shapes, (a, a), (a, a[:1]), (a, a[:3]))
    alike(sizes, (5,), (-5,))
    assert njit(sizes)(1 << 60) in (-1, -2)
    assert njit(sizes)(1 << 44) == -1
    alike(unassigned, (1,), (4,))
    alike(of_none, (0,), (1,))
    alike(a_power, (2, 2), (3, 2))


@njit
def deep(n):
    if n == 0:
        raise ValueError("at the end", n)
    if n > 10**6:
        return 0
    return deep(n - 1) + 1


@njit
def endless(n):
    return 0 if n < 0 else endless(n + 1) + 1


def catches_deep(n):
    try:
        return deep(n)
    except ValueError:
        return -n


def catches_recursion(n):
    try:
        return endless(n)
    except RecursionError:
        return -1


@njit
def on_its_way(n):
    """Each level catches what the one below raises, and raises it again."""
    try:
        if n == 0:
            raise KeyError("at the end", n)
        return on_its_way(n - 1)
    except KeyError:
        if n < 5:
            raise
        return n


def test_callees():
    alike(catches_deep, (0,), (1,), (50,))
    assert njit(catches_recursion)(0) == -1
    alike(on_its_way.py_func, (0,), (3,), (5,), (9,))
    assert on_stack(64, lambda: njit(catches_deep)(5)) == -5
    assert on_stack(256, lambda: njit(catches_recursion)(0)) == -1


# --- flow ---


def everything_at_once(n):
    x = 0
    for i in range(n):
        try:
            x += 1
            if i == 2:
                raise ValueError("x")
            if i == 3:
                raise KeyError("x")
            if i == 5:
                continue
            if i == 7:
                break
        except ValueError:
            x += 10
        except (IndexError, KeyError):
            x += 1000
        else:
            x += 5
        finally:
            x += 100
    else:
        x += 10**6
    return x


def returns(k):
    x = 0
    try:
        for i in range(5):
            try:
                x += i
                if i == k:
                    return x
                if i == k + 1:
                    raise ValueError
            except ValueError:
                return -x
            finally:
                x += 10
        return x
    finally:
        x += 1
        if k == 7:
            raise KeyError(x)


def retries(n):
    tries = 0
    while True:
        tries += 1
        try:
            if tries < n:
                raise ValueError(tries)
        except ValueError:
            if tries > 5:
                raise
            continue
        else:
            break
    return tries


def again_after_others(x):
    try:
        1 // x
    except ZeroDivisionError as e:
        try:
            raise KeyError(x, 1.5)
        except KeyError:
            x += 2
        if x:
            raise e
    return x


def inside_out(k):
    log = 0
    try:
        try:
            try:
                if k == 1:
                    raise ValueError(1)
                if k == 2:
                    raise KeyError(2)
                if k == 3:
                    raise IndexError(3)
            except ValueError:
                log = log * 10 + 1
                raise KeyError("from", log) from None
            finally:
                log = log * 10 + 2
        except KeyError as e:
            log = log * 10 + 3
            if log == 23:
                raise e
    except LookupError:
        log = log * 10 + 4
    finally:
        log = log * 10 + 5
    return log


def variables(n):
    """Which of the values a handler finds is known when something raises."""
    a = b = c = 0
    for i in range(n):
        try:
            a = i
            if i % 3 == 1:
                raise ValueError
            b = a + 1
            if i % 3 == 2:
                raise ValueError
            c = a + b
        except ValueError:
            c -= 100 * a + 10 * b
    return a, b, c


def test_flow():
    alike(everything_at_once, *[(k,) for k in (0, 3, 5, 7, 20)])
    alike(returns, *[(k,) for k in range(-2, 9)])
    alike(retries, *[(k,) for k in (1, 3, 6, 9)])
    alike(again_after_others, (0,), (1,))
    alike(inside_out, *[(k,) for k in range(5)])
    alike(variables, *[(k,) for k in range(9)])


def raises_in_handlers(k):
    try:
        try:
            raise ValueError(k)
        except ValueError:
            if k == 0:
                raise KeyError(k)
            if k == 1:
                raise
            k // 0
    except KeyError:
        return 1
    except ZeroDivisionError:
        return 2


def test_handlers_raise():
    alike(raises_in_handlers, (0,), (1,), (2,))


# --- array expressions in a try ---


def merged(a, b, c):
    try:
        x = (a * b + c * 2).sum()
        y = a - c
        return x + y[0], y
    except ValueError:
        return -1.0, a * 1.0
    except IndexError:
        return -2.0, a * 1.0


def several(a, b, c):
    x = a * 1.0
    try:
        x = a + b
        x = x * c
        x[5] = 3.0
        s = (x * x + b).sum()
    except ValueError:
        s = x.sum()
    except IndexError:
        s = -x.sum()
    finally:
        x += 1.0
    return s, x


def inner_sums(a, b, c):
    s = 0.0
    for k in range(3):
        try:
            t = (a + b * k).sum()
            try:
                s += ((a + b) * c[k:]).sum() + t
            except ValueError:
                s += 100.0 + t
        except ValueError:
            s -= 1.0
    return s


@pytest.mark.parametrize("fn", [merged, several, inner_sums])
def test_array_expressions_in_a_try(fn):
    """Their sizes agree, or not, or one repeats; each with the handler that sees what it does in Python."""
    compiled, parallel = njit(fn), njit(parallel=True)(fn)
    sizes = (0, 1, 4, 7)
    for n, m, k in itertools.product(sizes, repeat=3):
        args = [np.arange(1.0, 1 + size) for size in (n, m, k)]
        want = came(fn, *args)
        assert came(compiled, *args) == want and came(parallel, *args) == want, (n, m, k)


def test_array_expressions_in_a_try_are_merged():
    def f(a, b, c):
        try:
            return (a * b + c * 2).sum()
        except ValueError:
            return -1.0

    compiled, a = njit(f), np.ones(500)
    assert compiled(a, a, a) == 1500.0
    before = treadle.stats()["arrays_allocated"]
    assert compiled(a, a, a) == 1500.0
    assert treadle.stats()["arrays_allocated"] == before
    assert compiled(a, a[:3], a) == -1.0 and compiled(a, a[:1], a) == 1500.0


# --- memory ---


def test_memory_of_what_was_left_is_free_again():
    """Each round of a loop leaves arrays behind where it raises: here, in callees, inlined or not, held by variables and temporaries."""
    body = """
import resource
import numpy as np
from treadle import njit

@njit(inline="never")
def far(a, n):
    b = a + 1.0
    c = (b * 2.0, b)
    if n % 2 == 0:
        raise ValueError(n)
    return c[0][n % 3 + (1 << 20) * (n % 3)]

@njit(inline="always")
def near(a, n):
    b = a + 1.0
    far(b, n)
    return b

@njit
def f(n):
    bad = 0
    keep = np.zeros(1 << 17)
    for i in range(n):
        a = np.ones(1 << 17)
        try:
            d = near(a, i)
            keep = d
            a = d * 2.0
            far(a, i + 1)
        except ValueError:
            bad += 1
        except IndexError:
            bad += 1000
            try:
                keep = a * far(keep, i)
            except IndexError:
                bad += 10**6
            except ValueError:
                keep = a
    return bad, keep[0]

f(2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
got = f(1500)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 64 << 10, grown
print(got)
"""
    r = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, timeout=250)
    assert r.returncode == 0, r.stderr


def swaps(n):
    a, b = np.ones(3), np.zeros(3)
    c = a
    for i in range(n):
        try:
            a, b = b, a
            c = a + i
            a = c[: i % 5]
            a[3] = 1.0
        except IndexError:
            b = c
        finally:
            c = b
    return a, b, c


def test_arrays_held_by_variables():
    alike(swaps, *[(k,) for k in range(12)])
    for _ in range(20):
        njit(swaps)(50)


# --- fusion must not move what a handler sees ---


def stores_before_it_raises(n, k):
    c = np.zeros(n)
    b = np.ones(n)
    try:
        c[:] = b * 2
        x = b[k]
        d = c + x
        return d.sum()
    except IndexError:
        return c.sum()


def test_stores_are_seen():
    alike(stores_before_it_raises, (10, 1), (10, 10))


# --- parallel code ---


def in_a_body(a, idx):
    bad = 0
    for i in prange(len(idx)):
        try:
            a[i] = a[idx[i]] * 0 + i
        except IndexError:
            a[i] = -1.0
            bad += 1
    return a.sum(), bad


def of_callees(n):
    s = 0
    for i in prange(n):
        try:
            s += deep(i % 3) + 1
        except ValueError:
            s += 100
    return s


def array_expression(x, y):
    try:
        z = x * 2 + y
    except ValueError:
        z = x
    return z


@pytest.mark.parametrize("parallel", [False, True])
def test_parallel(parallel, threads):
    idx = np.array([0, 1, 2, 30, 4, 5, 6, 7, 88, 9])
    alike(in_a_body, lambda: (np.arange(10.0), idx), parallel=parallel)
    alike(of_callees, (0,), (100,), (5000,), parallel=parallel)
    big = np.arange(100_000.0)
    alike(array_expression, (big, big), (big, big[1:]), parallel=parallel)


# --- ufuncs ---


@vectorize
def clipped(x):
    try:
        if x > 2:
            raise ValueError(x)
        return x
    except ValueError:
        return -x


@guvectorize("(n),()->()")
def at_or_minus_one(a, i, out):
    try:
        out[0] = a[i]
    except IndexError:
        out[0] = -1


@guvectorize("(n),()->()")
def of_new_arrays(a, i, out):
    b = a * 2
    c = b + a[:3]
    out[0] = c[i]


def of_gufuncs(a, i):
    try:
        return of_new_arrays(a, i).sum() + at_or_minus_one(a, i).sum()
    except IndexError:
        return -1.0
    except ValueError:
        return -2.0


@pytest.mark.parametrize("parallel", [False, True])
def test_gufuncs_in_a_try(parallel, threads):
    a, i = np.ones((5000, 3)), np.zeros(5000, dtype=int)
    compiled = njit(parallel=parallel)(of_gufuncs)
    assert compiled(a, i) == 20000.0
    assert compiled(a, i + 5) == -1.0
    assert compiled(np.ones((5000, 4)), i) == -2.0


def test_ufuncs():
    assert clipped(np.arange(5.0)).tolist() == [0, 1, 2, -3, -4]
    assert clipped(7) == -7
    assert at_or_minus_one(np.arange(6.0).reshape(2, 3), np.array([1, 5])).tolist() == [1, -1]
    assert njit(lambda a: clipped(a).sum())(np.arange(5.0)) == -4


# --- the cache, and no compiler at all ---


def test_second_process_and_without_compiler(tmp_path):
    script = tmp_path / "cached.py"
    script.write_text(
        """
import numpy as np, treadle
from treadle import njit

class Mine(LookupError): pass

@njit(cache=True)
def f(a, i):
    try:
        if i == 5:
            raise Mine(i)
        return a[i]
    except Mine:
        return -2.0
    except LookupError as e:
        if i == 7:
            raise
        return -1.0

@njit(cache=True)
def g(a, i):
    try:
        return f(a, i)
    except LookupError as e:
        raise Mine("g", i) from e

a = np.arange(3.0)
print(f(a, 1), f(a, 4), f(a, 5))
try:
    g(a, 7)
except Mine as e:
    print(e, repr(e.__cause__)[:11], e.__context__ is e.__cause__, e.__suppress_context__)
"""
    )
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    outs = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=e, timeout=100)
        for e in (env, env, dict(env, TREADLE_DISABLE_JIT="1"))
    ]
    assert all(r.returncode == 0 for r in outs), [r.stderr for r in outs]
    assert outs[0].stdout == outs[1].stdout
    assert outs[0].stdout.splitlines() == outs[2].stdout.splitlines()
    assert outs[0].stdout.splitlines()[0] == "1.0 -1.0 -2.0"


# --- refusals ---


def kept(x):
    err = None
    try:
        x // 0
    except ZeroDivisionError as e:
        err = e
    if err is not None:
        raise err


def args_of(x):
    try:
        return x // 0
    except ZeroDivisionError as e:
        return len(e.with_traceback)


def from_number(x):
    if x:
        raise ValueError from x


def no_class(x):
    try:
        return x // 0
    except x:
        return 1


def around_prange(a):
    s = 0.0
    try:
        for i in prange(10):
            s += a[i]
    except IndexError:
        return -s
    return s


def sums_in_a_try(a, n):
    s = 0.0
    try:
        for i in prange(n):
            s += a[i]
    except IndexError:
        return -1.0
    return s


def stores_in_a_try(a, n, k):
    t = 1.0
    for j in range(3):
        try:
            for i in prange(n):
                if i == k:
                    raise ValueError(i)
                a[i] = i * t
        except ValueError:
            t = 100.0
            k = -1
        finally:
            t += 1
    return a.copy(), t


def counts_in_a_try(idx, n):
    h = np.zeros(8)
    try:
        for i in prange(len(idx)):
            h[idx[i]] += 1.0
        if n:
            raise KeyError(n)
    except IndexError:
        return -1.0
    except KeyError:
        return h[0]
    finally:
        h[0] = 5.0
    return h.sum()


def passes_on_in_a_try(a, k):
    """A handler inside that takes other exceptions, one around the loop that returns."""
    s = 0.0
    try:
        for i in prange(len(a)):
            try:
                s += a[i + k]
            except KeyError:
                pass
            s += a[0]
    finally:
        if k:
            return -1.0
    return s


def turns_into_another_in_a_try(a, k):
    """A handler inside that never goes on."""
    s = 0.0
    try:
        for i in prange(len(a)):
            try:
                x = a[i + k]
            except IndexError:
                raise ValueError(i)
            s += int(x) // int(a[i])
    except ValueError:
        return -1.0
    except ZeroDivisionError:
        return -2.0
    return s


@pytest.mark.parametrize("parallel", [False, True])
def test_prange_inside_of_try(parallel, threads):
    alike(
        sums_in_a_try,
        (np.arange(10.0), 10),
        (np.arange(10.0), 11),
        (np.ones(10**5), 10**5),
        parallel=parallel,
    )
    alike(stores_in_a_try, lambda: (np.zeros(8), 8, 20), lambda: (np.zeros(8), 8, 7), parallel=parallel)
    idx = np.arange(10**5) % 8
    alike(counts_in_a_try, (idx, 0), (idx, 1), (idx + 1, 1), (idx[:5], 1), parallel=parallel)
    ones, zeros = np.ones(9), np.zeros(9)
    alike(passes_on_in_a_try, (ones, 0), (ones, 1), parallel=parallel)
    alike(turns_into_another_in_a_try, (ones, 0), (ones, 1), (zeros, 0), (zeros, 9), parallel=parallel)


@pytest.mark.parametrize(
    "fn, args, text",
    [
        (args_of, (1,), "'with_traceback' of an exception that was caught"),
        (from_number, (1,), "exception causes must derive from BaseException, not int64"),
        (no_class, (1,), "an except clause takes exception classes, not int64"),
        (kept, (1,), "err"),
    ],
)
def test_refusals(fn, args, text):
    with pytest.raises((TypeError, treadle.errors.UnsupportedError), match=text):
        njit(fn)(*args)


def test_prange_inside_of_try_is_refused():
    with pytest.raises(treadle.errors.UnsupportedError, match="handler of a `try` around this prange loop"):
        njit(parallel=True)(around_prange)(np.ones(3))
