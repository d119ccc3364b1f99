"""An oracle for kernels: the kernel's own text, run by CPython one thread at a time, each up to its next barrier.

`cuda.syncthreads()` becomes a `yield`, so a kernel with barriers is a generator, and a block is a round of `next()` over its threads. Arithmetic is
Python's and NumPy's own; what threads do to each other between two barriers comes in the order of their numbers.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from treadle import cuda

_count = itertools.count()


def compile_text(text: str, name: str, **names: Any) -> Any:
    """A function of this text that tracebacks and messages can show."""
    file = f"<kernel {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"cuda": cuda, "math": math, "np": np, **names}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


def kernel_of(text: str, name: str = "k", boundscheck: bool | None = None, **names: Any) -> Any:
    """The kernel that Treadle makes of the text, which computes what CPython does: on a GPU it would round a product and a sum once."""
    options = {} if boundscheck is None else {"boundscheck": boundscheck}
    return cuda.jit(fma=cuda.is_emulated(), **options)(compile_text(text, name, **names))


@functools.lru_cache(maxsize=8)
def shared_kernel(text: str, name: str = "k") -> Any:
    """The same for many launches, which compile where types or the sizes of blocks are others."""
    return kernel_of(text, name)


class _Block:
    """What `cuda` is to the threads of one block."""

    def __init__(self, grid: tuple[int, ...], block: tuple[int, ...], at: tuple[int, ...]) -> None:
        self.gridDim, self.blockDim, self.blockIdx = (
            SimpleNamespace(x=t[0], y=t[1], z=t[2]) for t in (grid, block, at)
        )
        self.arrays: dict[int, Any] = {}
        self.shared = SimpleNamespace(array=self._array)
        self.atomic = SimpleNamespace(
            add=self._of(lambda a, b: a + b),
            sub=self._of(lambda a, b: a - b),
            min=self._of(min),
            max=self._of(max),
            and_=self._of(lambda a, b: a & b),
            or_=self._of(lambda a, b: a | b),
            xor=self._of(lambda a, b: a ^ b),
            exch=self._of(lambda a, b: b),
            cas=self._cas,
        )

    def enter(self, at: tuple[int, ...]) -> None:
        self.threadIdx = SimpleNamespace(x=at[0], y=at[1], z=at[2])
        self.made = 0

    def _array(self, shape: Any, dtype: Any) -> Any:
        self.made += 1
        if self.made not in self.arrays:
            self.arrays[self.made] = np.full(shape, 111, dtype)
        return self.arrays[self.made]

    @staticmethod
    def _of(join: Any) -> Any:
        def atomic(a: Any, i: Any, v: Any) -> Any:
            was = a[i]
            a[i] = join(was, a.dtype.type(v))
            return was

        return atomic

    @staticmethod
    def _cas(a: Any, i: Any, old: Any, v: Any) -> Any:
        was = a[i]
        if was == old:
            a[i] = v
        return was

    def grid(self, n: int) -> Any:
        at = tuple(
            getattr(self.blockIdx, x) * getattr(self.blockDim, x) + getattr(self.threadIdx, x) for x in "xyz"
        )
        return at[0] if n == 1 else at[:n]

    def gridsize(self, n: int) -> Any:
        size = tuple(getattr(self.gridDim, x) * getattr(self.blockDim, x) for x in "xyz")
        return size[0] if n == 1 else size[:n]


def _three(n: Any) -> tuple[int, ...]:
    return (*((n,) if isinstance(n, int) else n), 1, 1)[:3]


def simulate(text: str, grid: Any, block: Any, *args: Any, name: str = "k", **names: Any) -> None:
    """Run the kernel of the text on these arguments, in place."""
    grid, block = _three(grid), _three(block)
    places = [t[::-1] for t in itertools.product(*(range(n) for n in block[::-1]))]
    text = text.replace("cuda.syncthreads()", "yield")
    for at in itertools.product(*(range(n) for n in grid[::-1])):
        here = _Block(grid, block, at[::-1])
        fn = compile_text(text, name, **{**names, "cuda": here})
        threads = {}
        for place in places:  # each has its arrays of the same number
            here.enter(place)
            run = fn(*args)
            if run is not None:
                threads[place] = (run, None)
        made: dict[Any, int] = dict.fromkeys(threads, 0)
        while threads:
            for place, (run, _) in list(threads.items()):
                here.enter(place)
                here.made = made[place]
                try:
                    next(run)
                except StopIteration:
                    del threads[place]
                made[place] = here.made


def check(text: str, grid: Any, block: Any, *args: Any, name: str = "k", **names: Any) -> None:
    """The kernel and the oracle do the same to the arguments."""
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    wanted = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    kernel = kernel_of(text, name, **names) if names else shared_kernel(text, name)
    kernel[grid, block](*mine)
    with np.errstate(all="ignore"):
        simulate(text, grid, block, *wanted, name=name, **names)
    for k, (got, want) in enumerate(zip(mine, wanted)):
        np.testing.assert_array_equal(got, want, err_msg=f"argument {k} of\n{text}")


# What each leaves of what it meets.
ATOMIC = {
    "add": lambda a, v: a + v,
    "sub": lambda a, v: a - v,
    "min": lambda a, v: v if v < a else a,
    "max": lambda a, v: v if v > a else a,
    "nanmin": lambda a, v: v if v < a or (a != a and v == v) else a,
    "nanmax": lambda a, v: v if v > a or (a != a and v == v) else a,
    "and_": lambda a, v: a & v,
    "or_": lambda a, v: a | v,
    "xor": lambda a, v: a ^ v,
    "exch": lambda a, v: v,
    "inc": lambda a, v: a.dtype.type(0) if a >= v else a + a.dtype.type(1),
    "dec": lambda a, v: v if a == 0 or a > v else a - a.dtype.type(1),
}


def in_some_order(op: Any, start: Any, values: Any, old: Any, end: Any) -> None:
    """Atomics on one item, one for each of the values, that gave what was there before: is there an order of them in which they do that?

    Each leads from what it met to what it left, so an order is an Eulerian trail from the start to the end: it is there if the items are connected and as many come to each
    as go from it, the two ends aside.
    """

    def key(x: Any) -> bytes:
        x = np.asarray(x, np.asarray(old).dtype)[()]
        return b"nan" if x != x else (x + x.dtype.type(0)).tobytes()

    degree: dict[bytes, int] = {key(start): 1}
    degree[key(end)] = degree.get(key(end), 0) - 1
    ways: dict[bytes, set[bytes]] = {}
    with np.errstate(all="ignore"):
        for x, was in zip(values, old):
            a, b = key(was), key(op(was, x))
            degree[a] = degree.get(a, 0) - 1
            degree[b] = degree.get(b, 0) + 1
            ways.setdefault(a, set()).add(b)
    assert not any(degree.values()), "what an atomic met nobody left, or the other way round"
    seen, todo = {key(start)}, [key(start)]
    while todo:
        for b in ways.get(todo.pop(), set()) - seen:
            seen.add(b)
            todo.append(b)
    assert set(ways) <= seen, "some atomics met what never was there"
