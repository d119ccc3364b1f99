"""Lazy arrays in others' programs: the namespace of the array API standard, and Dask."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import treadle.parallel as tp
from treadle.parallel import array_api

X = np.arange(6.0).reshape(2, 3) + 1
I = np.array([[3, 1, 2], [1, 3, 3]])


def test_the_namespace():
    x = tp.array(X)
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is array_api
    assert x.__array_namespace__().__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="not '1999.12'"):
        x.__array_namespace__(api_version="1999.12")
    with pytest.raises(AttributeError, match="lazy arrays have no function 'svd' of the array API"):
        array_api.svd  # noqa: B018
    assert {"concat", "pow", "acos", "astype", "unique_counts", "bool", "float32", "pi"} <= set(
        array_api.__all__
    )
    for name in array_api.__all__:
        assert hasattr(array_api, name)


def generic(x, y):
    """A program for any library that has the standard's functions."""
    xp = x.__array_namespace__()
    z = xp.concat([xp.acos(x / 10.0), xp.pow(y, 2.0)], axis=0)
    z = xp.where(
        z > 1, xp.permute_dims(xp.permute_dims(z, (1, 0)), (1, 0)), xp.zeros(z.shape, dtype=xp.float64)
    )
    s = xp.sum(xp.astype(z, xp.float32), axis=1, keepdims=True)
    m = xp.max(xp.bitwise_left_shift(xp.asarray(I), xp.asarray(1)))
    return (
        xp.atan2(s, xp.expand_dims(xp.arange(4, dtype=xp.float32), axis=1)),
        m,
        xp.argsort(xp.reshape(z, (-1,)), descending=True),
    )


def test_a_program_of_the_standards():
    x = tp.array(X)
    got = generic(x, x + 1)
    assert all(isinstance(g, tp.LazyArray) and not g.evaluated for g in got)
    z = np.concatenate([np.arccos(X / 10.0), (X + 1) ** 2.0])
    z = np.where(z > 1, z, 0.0)
    s = z.astype("f4").sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        np.asarray(got[0]), np.arctan2(s, np.arange(4, dtype="f4")[:, None]), rtol=1e-6
    )
    assert int(got[1]) == 6
    assert np.asarray(got[2]).tolist() == np.argsort(-z.reshape(-1), kind="stable").tolist()


MADE = {
    "eye": lambda xp: (xp.eye(3), np.eye(3)),
    "linspace": lambda xp: (xp.linspace(0, 1, 5), np.linspace(0, 1, 5)),
    "empty": lambda xp: (xp.empty((0, 2)), np.empty((0, 2))),
    "full_like": lambda xp: (xp.full_like(tp.array(X), 2.0), np.full_like(X, 2.0)),
    "asarray": lambda xp: (xp.asarray([1, 2], dtype=xp.float32), np.array([1, 2], "f4")),
    "from_dlpack": lambda xp: (xp.from_dlpack(X), X),
    "sort": lambda xp: (xp.sort(tp.array(I), axis=0, descending=True), -np.sort(-I, axis=0)),
    "argsort": lambda xp: (xp.argsort(tp.array(I), descending=True), np.argsort(-I, kind="stable")),
    "mT": lambda xp: (tp.array(X).mT + 0, X.T),
    "clip": lambda xp: (xp.clip(tp.array(X), 2, 3), np.clip(X, 2, 3)),
    "cumulative": lambda xp: (xp.sum(tp.array(X), axis=0), X.sum(axis=0)),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made(name):
    if name == "mT" and not hasattr(X, "mT"):
        pytest.skip("NumPy 2's arrays have mT")
    got, want = MADE[name](array_api)
    assert isinstance(got, tp.LazyArray)
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_types_and_devices_without_values():
    x = tp.array(X) * 2
    assert x.device == "cpu" and x.to_device("cpu") is x
    assert array_api.result_type(x, array_api.float32) == np.float64
    assert not array_api.can_cast(x, array_api.float32)
    assert array_api.astype(x, array_api.float64, copy=False) is x
    assert not x.evaluated
    for call in (
        lambda: x.to_device("gpu"),
        lambda: array_api.asarray(X, device="gpu"),
        lambda: array_api.eye(2, device=3),
    ):
        with pytest.raises(ValueError, match="there is the device 'cpu'"):
            call()
    with pytest.raises(ValueError, match="no streams"):
        x.to_device("cpu", stream=1)
    with pytest.raises(ValueError, match="copy=False"):
        array_api.asarray(X, dtype="f4", copy=False)
    info = array_api.__array_namespace_info__()
    assert info.default_device() == "cpu" and info.devices() == ["cpu"]
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="integral")) == {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64", "complex128"}
    assert len(info.dtypes()) == 13 and info.capabilities()["boolean indexing"]


# --- Dask ---


def graph(k=2.5, a=X):
    return tp.map(lambda v: v * k, tp.array(a) + 1).sum(axis=0)


def test_tokens_are_of_structure_functions_and_leaves():
    base = pytest.importorskip("dask.base", reason="tokens are Dask's")
    t = base.tokenize(graph())
    assert base.tokenize(graph()) == t and base.tokenize(graph(a=X.copy())) == t
    for other in (graph(k=2.0), graph(a=X + 1), graph().evaluate(), graph() + 1):
        assert base.tokenize(other) != t
    assert base.tokenize(graph().evaluate()) == base.tokenize(graph().evaluate())
    assert base.tokenize(pickle.loads(pickle.dumps(tp.array(X) + 1))) == base.tokenize(tp.array(X) + 1)


def test_a_token_is_data():
    x = tp.array(X) * 2.5
    name, rows = x.__dask_tokenize__()
    assert name == "treadle.parallel.LazyArray" and rows[0][3] is np.multiply and rows[0][5][1] == 2.5
    assert x.evaluated is False
    x.evaluate()
    assert np.array_equal(x.__dask_tokenize__()[1], X * 2.5)
    q = tp.topk(tp.array(X[0]), 2)[0]
    assert q.evaluate().__dask_tokenize__()[1].tolist() == [3.0, 2.0]


def test_tokens_are_the_same_in_another_process():
    pytest.importorskip("dask.base", reason="tokens are Dask's")
    program = (
        "import numpy as np, treadle.parallel as tp, dask.base\n"
        "print(dask.base.tokenize((tp.array(np.arange(4.0)) * 2.5).sum()))"
    )
    one, two = (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert one == two


def longest(p, q):
    return p if p > q else q


def test_reductions_by_parts():
    for op, identity, want in (
        (tp.add, None, X.sum(0)),
        (np.maximum, None, X.max(0)),
        (longest, -1.0, X.max(0)),
    ):
        f = tp.as_dask_reduction(op, identity=identity)
        assert set(f) == {"chunk", "combine", "aggregate"}
        blocks = [f["chunk"](X[k : k + 1], axis=(0,), keepdims=True) for k in range(2)]
        got = f["aggregate"](
            f["combine"](np.concatenate(blocks), axis=(0,), keepdims=True), axis=(0,), keepdims=False
        )
        assert got.tolist() == want.tolist()
        assert f["aggregate"](X, axis=None, keepdims=False) == np.max(
            want if op is not tp.add else want.sum()
        )
        assert pickle.loads(pickle.dumps(f["chunk"]))(X, axis=0).tolist() == want.tolist()
    with pytest.raises(TypeError, match="identity= is needed"):
        tp.as_dask_reduction(longest)
    with pytest.raises(TypeError, match="is no function"):
        tp.as_dask_reduction(3)


def test_dask_reduces_by_them():
    da = pytest.importorskip("dask.array", reason="Dask's own reduction")
    a = np.random.default_rng(1).integers(0, 100, (50, 30))
    x = da.from_array(a, chunks=(7, 11))
    for axis in (None, 0, 1, (0, 1)):
        for op, want in ((tp.add, a.sum(axis)), (tp.maximum, a.max(axis))):
            r = da.reduction(x, axis=axis, dtype=a.dtype, split_every=2, **tp.as_dask_reduction(op))
            assert np.array_equal(r.compute(scheduler="threads"), want)
    z = da.map_blocks(lambda b: np.asarray(tp.map(lambda v: v * 2, b)), x, dtype=a.dtype)
    assert np.array_equal(z.compute(scheduler="threads"), a * 2)
