"""Polynomials, frequencies, questions about types and np.roll along several axes, against NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check  # noqa: E402

TYPES = ["?", "i1", "i4", "i8", "u1", "f4", "f8", "c8", "c16"]


def numbers(dtype: str, n: int, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).integers(0, 2 if dtype == "?" else 9, n)
    return x.astype(dtype) + (1j if dtype[0] == "c" else 0) * x.astype(dtype)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(["np.polyadd(a, b)", "np.polysub(a, b)"]),
    st.sampled_from(TYPES[1:]),
    st.sampled_from(TYPES[1:]),
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(0, 99),
)
def test_sums(text, of, to, n, m, seed):
    check(text, numbers(of, n, seed), numbers(to, m, seed + 1)[::-1])


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(
        ["np.polyder(a, b)", "np.polyint(a, b)", "np.polyint(a, b, 3)", "np.polyder(a)", "np.polyint(a)"]
    ),
    st.sampled_from(TYPES[1:]),
    st.integers(1, 5),
    st.sampled_from([-1, 1, 2, 3]),  # of order 0, NumPy's is the array as it is
    st.integers(0, 99),
)
def test_derivatives(text, of, n, m, seed):
    args = (numbers(of, n, seed), m)
    check(text, *args[: 1 + ("b" in text)], rtol=1e-6 if of in ("f4", "c8") else 1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n):
    for text in (
        "np.fft.fftfreq(a)",
        "np.fft.fftfreq(a, 0.25)",
        "np.fft.rfftfreq(a)",
        "np.fft.rfftfreq(a, 3)",
    ):
        check(text, n, rtol=1e-15)


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 5, 3), (0, 3)])
def test_shifts(shape):
    a = np.arange(int(np.prod(shape))).reshape(shape)
    for text in ("fftshift(a)", "ifftshift(a)", "fftshift(a, 0)", "ifftshift(a, axes=-1)"):
        check("np.fft." + text, a)
        check("np.fft." + text, a.T)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(["(b, c), (0, 1)", "(b, c), (1, 1)", "b, (0, -1)", "(b, c), 1", "(b, 2, c), (0, 1, 0)"]),
    st.sampled_from([(3, 4), (1, 5), (0, 2)]),
    st.integers(-9, 9),
    st.integers(-9, 9),
)
def test_roll_along_several_axes(text, shape, b, c):
    a = np.arange(int(np.prod(shape)), dtype="i8").reshape(shape)
    check(f"np.roll(a, {text}) + 0 * b + 0 * c", a, b, c)


def test_roll_is_a_copy():
    check("np.roll(a, (), ())", np.arange(6).reshape(2, 3)[:, ::-1])


CLASSES = ["np.floating", "np.integer", "np.signedinteger", "np.unsignedinteger", "np.complexfloating", "np.number", "np.inexact", "np.generic", "np.float32", "np.bool_", "np.int64"]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
def test_kinds_of_types(dtype):
    for cls in CLASSES:
        check(f"np.issubdtype(a.dtype, {cls})", np.ones(1, dtype))
    check(
        "np.issubdtype(np.float32, np.floating), np.issubdtype(np.int8, np.float64), a.size",
        np.ones(1, dtype),
    )


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(TYPES[1:]),
    st.sampled_from(TYPES[1:]),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_products(of, to, n, m, seed):
    check("np.polymul(a, b)", numbers(of, n, seed), numbers(to, m, seed + 1))


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(["i8", "f8", "c16"]), st.integers(1, 6), st.integers(1, 4), st.integers(0, 99))
def test_quotients(of, n, m, seed):
    a, b = numbers(of, n, seed) + 1, numbers(of, m, seed + 1) + 1
    check("np.polydiv(a, b)[0]", a, b, rtol=1e-9, atol=1e-9)
    check("np.poly(a)", numbers("f8", n, seed) - 3, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "c8"])
def test_types_of_quotients(dtype):
    a, b = np.array([1, 5, 6, 2], dtype), np.array([2, 1], dtype)
    check("np.polydiv(a, b)", a, b, rtol=1e-5)
    check("np.poly(a)", a.real.copy(), rtol=1e-5)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # before, 1.0 / float32 was float64
        check(
            "np.polydiv(a, b)", np.array([1.5, 4.0, 4.5]), np.array([-1.5, 1], np.float32)
        )  # 1 / -1.5 in float32
    check("np.polydiv(a, b)", np.array([1.0, 2.0, 1.0 + 1e-9]), np.array([1.0, 1.0]))  # what is nearly 0 goes
    check("np.polydiv(a, b)", a, b[:0])
    check("np.polydiv(a, b)", a[:0], b)


NEW = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="names of NumPy 2.1")


@NEW
@pytest.mark.parametrize(
    "text",
    [
        "np.cumulative_sum(a, axis=1)", "np.cumulative_prod(a, axis=0, include_initial=True)",
        "np.cumulative_sum(a, axis=-1, include_initial=True)", "np.cumulative_sum(a[0], include_initial=True, dtype=np.float32)",
        "np.cumulative_prod(a[0])", "np.cumulative_sum(a[:0], axis=0, include_initial=True)", "np.matrix_transpose(a)",
        "np.astype(a, np.float32)", "np.sort(np.unique_values(a))", "np.unique_counts(a)", "np.unique_inverse(a)",
        "np.unique_all(a)", "np.asarray_chkfinite(a)", "np.asarray_chkfinite(a / a[0, 0])", "np.asanyarray(a)",
        "np.linalg.matmul(a, a.T)", "np.linalg.outer(a[0], a[1])", "np.linalg.matrix_transpose(a)",
        "np.linalg.diagonal(a, offset=1)", "np.linalg.trace(a)", "np.linalg.cross(a, a[:, ::-1], axis=0)", "np.linalg.cross(a[:, 1:], a[:, :3])", "np.linalg.cross(a, a)", "np.linalg.vecdot(a, a)", "np.linalg.vecdot(a, a, axis=0)",
        "np.linalg.vector_norm(a)", "np.linalg.vector_norm(a, axis=1)", "np.linalg.vector_norm(a, axis=1, ord=1, keepdims=True)", "np.linalg.vector_norm(a, keepdims=True)",
        "np.linalg.matrix_norm(a)", "np.linalg.matrix_norm(a, ord=1, keepdims=True)", "np.linalg.tensordot(a, a, axes=2)",
    ],
)  # fmt: skip
def test_names_of_the_standard(text):
    a = np.array([[0, 2, 2, 1], [5, 2, 1, 7], [1, 1, 0, 3]])
    check(text, a, rtol=1e-14)
    check(text, np.asfortranarray(a.astype("f8")), rtol=1e-14)
    check(text, (a + 1j)[:, ::-1], rtol=1e-14)


@NEW
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f4", "c8"])
def test_vecdot_sums_in_the_type_of_its_arguments(dtype):
    a = np.array([[100, 99, 3], [0, 0, 0]]).astype(dtype)
    check("np.linalg.vecdot(a, a)", a)
    check("np.linalg.vecdot(a[0], a[0]) + 0 * a[0, 0]", a)
    check("np.linalg.vecdot(a, b)", a, a.real.astype("i2"))


def test_asarray_chkfinite_copies_where_asarray_does():
    a = np.arange(12.0).reshape(3, 4)
    for text in ("a", "a, order='F'", "a, order='C'", "a, np.float64, 'F'", "a, np.float32"):
        for layout in (a, a.T, a[:, ::2]):
            got = check(f"np.asarray_chkfinite({text})", layout)
            want = eval(f"np.asarray_chkfinite({text})", {"np": np, "a": layout})
            assert np.shares_memory(got, layout) == np.shares_memory(want, layout), text
            assert got.flags.f_contiguous == want.flags.f_contiguous, text


@pytest.mark.parametrize("of", ["float64", "int8", "complex64"])
def test_polynomials_without_coefficients(of):
    none, some = np.zeros(0, of), np.array([0, 0, 2, 1], of)
    for a, b in ((none, some), (some, none), (none, none), (some, some), (some[:2], some[::-1])):
        for f in ("polymul", "polyadd", "polysub", "polydiv"):
            check(f"np.{f}(a, b)", a, b)
