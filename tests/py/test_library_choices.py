"""numpy.choose, select, put, take_along_axis and their like (treadle/_library/choices.py) against NumPy's."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, check_python  # noqa: E402

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="results are NumPy 2's, with either NumPy"
)

I = np.arange(24)  # noqa: E741
M = np.arange(24.0).reshape(4, 6)
T = np.arange(24).reshape(2, 3, 4)
B = I > 5

CASES = [
    ("np.choose(a,(b,c))", I % 2, I, I * 0.5),
    ("np.choose(a,(b,c,7))", I % 3, I, I * 0.5),
    ("np.choose(a,(b,c))", I % 3, I, I * 0.5),
    ("np.choose(a,(b,c),mode='clip')", I - 3, I, I * 0.5),
    ("np.choose(a,[b,c],mode='wrap')", I - 3, I, I),
    ("np.choose(a,b)", I[:6] % 4, M),
    ("np.choose(a,b)", I[:12].reshape(2, 6) % 4, M),
    ("np.choose(a,b)", I % 2, I[:2]),
    ("np.choose(a,(b,10))", I[:6] > 2, M),
    ("np.choose(a,b,out=c)", I[:6] % 4, M, np.zeros(6)),
    ("np.choose(a,b,mode='wrap')", T - 9, T),
    ("np.choose(a,(10,20,30))", 1),
    ("np.choose(a,(b,c))", M, I, I),
    ("np.choose(a,(b,2.5))", I % 2, M.astype("f4").ravel()),
    ("np.choose(a,(b[0],2.5))", I % 2, M.astype("f4").ravel()),
    ("np.choose(a,(2,b,3))", I % 3, I.astype("i1")),
    ("np.choose(a,(2,b,3.5))", I % 3, I.astype("i1")),
    ("np.choose(a,(True,b,3))", I % 3, I.astype("u2")),
    ("np.choose(a,(b,c,2))", I % 3, I.astype("i1"), I.astype("u1")),
    ("np.choose(a,(2,3.5))", I % 2),
    ("np.select((a>3,a>2),(2,a))", I.astype("i1")),
    ("np.select((a>3,a>2),(2,a),2.5)", M.astype("f4")),
    ("np.select((a>3,a>2),(2,a[0]),2.5)", I.astype("f4")),
    ("np.select((a>3,),(2.5,),b)", I, M.astype("f4").ravel()),
    ("np.select((a>3,a>2),(2.5,1))", I),
    ("np.choose(a,b)", I[:0], M[:, :1]),
    ("np.choose(a,b)", I[:2] % 4, M),
    ("np.choose(a,b)", I[:1] % 4, M),
    ("np.choose(a,b)", I[:4].reshape(2, 2) % 2, T),
    ("np.select((a>3,a<2),(a,a*2.5))", I),
    ("np.select([a>3,a<2],[a,a*2],-1)", I),
    ("np.select([a>3],[a],99)", I.astype("i1")),
    ("np.select([a>3,a>b],[a,1],c)", M, I[:6], 2.5),
    ("np.select([a],[a])", I),
    ("np.select([a>1],[a,a])", I),
    ("np.select([a>5],[a])", M.astype("f4")),
    ("np.select((a,),(b,))", B, M.astype("c8").ravel()),
    ("np.piecewise(a,[a<3,a>=10],[-1,lambda x: x*2])", I),
    ("np.piecewise(a,[a<3,a>=10],[-1,lambda x: x*2,lambda x: -x])", M),
    ("np.piecewise(a,a<3,[lambda x, y: x+y,7],5)", I),
    ("np.piecewise(a,[a<3],[1,2,3])", M),
    ("(np.copyto(a,b),a)[1]", np.zeros((4, 6)), M),
    ("(np.copyto(a,b),a)[1]", np.zeros((4, 6)), I[:6]),
    ("(np.copyto(a,3),a)[1]", np.zeros(4, "u1")),
    ("(np.copyto(a,b),a)[1]", np.zeros(4, "i1"), I[:4]),
    ("(np.copyto(a,b),a)[1]", np.zeros(4, "i8"), M[0, :4]),
    ("(np.copyto(a,b,casting='unsafe'),a)[1]", np.zeros(4, "i8"), M[0, :4] + 0.5),
    ("(np.copyto(a,b,where=c),a)[1]", np.zeros((4, 6)), M, M % 2 == 1),
    ("(np.copyto(a,5,where=b),a)[1]", np.zeros((4, 6)), M[0] > 2),
    ("(np.copyto(a,b,where=False),a)[1]", np.zeros((4, 6)), M),
    ("(np.copyto(a,b),a)[1]", np.zeros((4, 6)), I[:4]),
    ("(np.copyto(a,b),a)[1]", np.zeros(4, "u1"), I[:4]),
    ("(np.copyto(a,2.5),a)[1]", np.zeros(4, "u1")),
    ("(np.place(a,b,(1,2,3)),a)[1]", I, B),
    ("(np.place(a,b,c),a)[1]", M.T, M.T % 2 == 1, I[:5] * -1.0),
    ("(np.place(a,b,c),a)[1]", I, B, I[:0]),
    ("(np.place(a,b,c),a)[1]", I, B & False, I[:0]),
    ("(np.place(a,b,3),a)[1]", I, B[1:]),
    ("(np.place(a,b,c),a)[1]", M, np.arange(24) % 2, -M[0]),
    ("(np.place(a,a>2,7),a)[1]", I),
    ("(np.putmask(a,b,c),a)[1]", I, B, I[:5]),
    ("(np.putmask(a,b,c),a)[1]", I, B, -I),
    ("(np.putmask(a,b,9),a)[1]", M.T, M.T > 3),
    ("(np.putmask(a,b,c),a)[1]", M.T, M.T > 3, -M),
    ("(np.putmask(a,b,c),a)[1]", M.T, M.T > 3, -M[0]),
    ("(np.putmask(a,b,c),a)[1]", M, M > 3, -M[0, :0]),
    ("(np.putmask(a,b,3),a)[1]", I, B[1:]),
    ("(np.put(a,b,c),a)[1]", I, I[3:6], I[:2]),
    ("(np.put(a,[1,-1],-9),a)[1]", M.T),
    ("(np.put(a,b,5,mode='wrap'),a)[1]", I, I[3:6] * 17),
    ("(np.put(a,b,5,mode='clip'),a)[1]", I, I[3:6] * 17 - 60),
    ("(np.put(a,b,5),a)[1]", I, I[3:6] * 17),
    ("(np.put(a,b,5),a)[1]", I[:0], I[3:6]),
    ("(np.put(a,b,5),a)[1]", I[:0], I[:0]),
    ("(np.put(a,2,5),a)[1]", I),
    ("(np.put(a,b,c),a)[1]", M, M.astype("u1").T, I - 40.0),
    ("np.take_along_axis(a,b,1)", M, I[:12].reshape(4, 3) % 6),
    ("np.take_along_axis(a,b,axis=0)", M, I[:1].reshape(1, 1)),
    ("np.take_along_axis(a,b,-1)", T, T % 4 - 4),
    ("np.take_along_axis(a,b,0)", M, I[:12].reshape(4, 3) % 4),
    ("np.take_along_axis(a,b,axis=None)", M, I[:4]),
    ("np.take_along_axis(a,b,1)", M, I[:12].reshape(4, 3)),
    ("np.take_along_axis(a,b,1)", M, M),
    ("np.take_along_axis(a,b,1)", M, I),
    ("np.take_along_axis(a,b,0)", I, I[:3].astype("u2")),
    ("np.take_along_axis(a,np.argsort(-a,axis=0),axis=0)", M),
    ("(np.put_along_axis(a,b,c,1),a)[1]", M, I[:4].reshape(4, 1), -M[:, :1]),
    ("(np.put_along_axis(a,b,-1,0),a)[1]", M.T, I[:4].reshape(1, 4)),
    ("(np.put_along_axis(a,b,c,None),a)[1]", M, I[:4], -I[:4]),
    ("(np.put_along_axis(a,b,9,None),a)[1]", M, I[:4] * 9),
    ("np.apply_along_axis(np.sum,1,a)", M),
    ("np.apply_along_axis(np.cumsum,0,a)", M),
    ("np.apply_along_axis(lambda x: x[:2]*2,1,a)", T),
    ("np.apply_along_axis(lambda x, k: x[0]+k,0,a,b)", T, 0.5),
    ("np.apply_along_axis(np.diag,1,a)", T),
    ("np.apply_along_axis(np.diag,-1,a)", T),
    ("np.apply_along_axis(np.max,0,a)", M[:, :0]),
    ("np.apply_along_axis(np.sum,0,a)", I),
    ("np.apply_along_axis(np.cumsum,0,a)", I),
    ("np.apply_along_axis(np.diag,0,a)", T),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_cases(case):
    check(*(np.copy(x, order="K") if isinstance(x, np.ndarray) else x for x in case), rtol=1e-14)
    check_python(*case, rtol=1e-14)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_along_axes(data):
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    a = np.arange(n * m).reshape(n, m)
    places = st.lists(st.integers(-m, m), min_size=2 * n, max_size=2 * n)
    which = np.array(data.draw(places), dtype=np.int64).reshape(n, 2)
    check("np.take_along_axis(a, b, 1)", a, which)
    check("np.take_along_axis(a, b, axis=0)", a.T, which.T)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_stored(data):
    n = data.draw(st.integers(0, 12))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    new = -np.arange(data.draw(st.integers(0, 14)))
    check("(np.place(a, b, c), a)[1]", np.arange(n), mask, new)
    check("(np.putmask(a, b, c), a)[1]", np.arange(n), mask, new)


def test_choices_make_no_array_between():
    f = njit(lambda a, b: np.select((a > 2, a < 1), (a * 2, b), 0.5).sum())
    assert f(np.arange(4.0), -np.ones(4)) == -1 + 0.5 + 0.5 + 6
    (text,) = f.inspect_ir().values()
    assert "alloc" not in text.split("b2 cold")[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("np.choose(a, (a, a), mode='up')", "the mode must be"),
        ("np.select((a,), (a,))", "arrays of bool"),
        ("np.copyto(a, b)", "another kind"),
    ],
)
def test_refused(text, message):
    with pytest.raises(TypingError, match=message):
        njit(eval(f"lambda a, b: {text}", {"np": np}))(I, 2.5)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize(
    "how, value",
    [
        *((how, v) for how in ("putmask", "copyto", "strided") for v in (4, 2.5, "ints", "floats")),
        *(
            (how, v) for how in ("copyto", "strided") for v in (3j, "complex")
        ),  # putmask refuses them, as NumPy's
    ],
)
def test_items_that_stay_do_not_take_the_type_of_what_is_stored(dtype: str, how: str, value: object) -> None:
    """int64 with uint64, and integers with floats, are float64 together, which does not hold them."""
    a = np.array([2**53 + 1, 2**62 + 1, 7, np.iinfo(dtype).max - 5], dtype)
    mask = np.array([False, False, True, False])
    made = {"ints": [4] * 4, "floats": [2.5] * 4, "complex": [3j] * 4}
    v = np.array(made[value]) if isinstance(value, str) else value

    def put(a: np.ndarray, mask: np.ndarray, v: object) -> None:
        if how == "putmask":
            np.putmask(a, mask, v)
        elif how == "copyto":
            np.copyto(a, v, casting="unsafe", where=mask)
        else:
            np.copyto(a[::-1], v, casting="unsafe", where=mask[::-1])

    want, got = a.copy(), a.copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.copyto(
            want, v, casting="unsafe", where=mask
        )  # putmask casts by other rules, as Treadle's does not
    njit(put)(got, mask, v)
    np.testing.assert_array_equal(got, want)
