"""What cuda.py measures: one function for each group of rows. Results are checked before anything is timed.

Variants take turns. Launches are timed on the host, in bursts that are shorter than the driver's queue; kernels by events; what copies, too, by the clock.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import subprocess
import tempfile
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import creference
import cuda_driver
import elementwise
import emulated
import harness as harnesses
import numpy as np
import peers
import rows
from cuda_driver import Driver, Missing, Packed
from cuda_rows import DEVICE, HOST, KERNELS, LAUNCHES, LAUNCHES_CUPY, OUT


@dataclass(frozen=True)
class Sizes:
    """How much is measured: on a GPU arrays are several times as large as its cache."""

    line: int = 1 << 26
    side: int = 8192
    product: int = 2048
    elements: int = 10_000_000
    bursts: int = 200
    burst: int = 200  # launches; the driver's queue holds more
    rounds: int = 25
    sample: float = 0.01  # seconds


QUICK = Sizes(1 << 13, 64, 64, 1000, 3, 10, 2, 0.0)


# --- measuring ---


@dataclass
class Bench:
    """One run.

    Attributes
    ----------
    cuda : module
        `treadle.cuda`.
    driver : Driver
        The same driver, by ctypes.
    sizes : Sizes
    samples : dict
        As rows read them: measurement, variant, seconds.
    notes, wrong : list of str
        What is missing; what fails the run.
    versions : dict
    """

    cuda: Any
    driver: Driver
    sizes: Sizes
    samples: rows.Samples = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    _module: ctypes.c_void_p | None | bool = False

    def cc(self) -> tuple[int, int]:
        return tuple(self.cuda.get_current_device().compute_capability)  # type: ignore[return-value]

    def cuda_c(self) -> ctypes.c_void_p | None:
        """The module of cuda_kernels.cu, or None, which is said once."""
        if self._module is False:
            try:
                who, module = cuda_driver.load_cuda_c(
                    self.driver, harnesses.HERE / "cuda_kernels.cu", self.cc()
                )
                self._module, self.versions["CUDA C"] = module, who
            except Missing as why:
                self._module = None
                self.note(f"no CUDA C to compare with: {why}")
        return self._module  # type: ignore[return-value]

    def turns(
        self, measurement: str, sides: Mapping[str, Callable[[], float]], rounds: int, scale: float = 1
    ) -> None:
        """Time all sides, one after the other, so many times over; a sample is what a side gives, divided by `scale`."""
        kept = self.samples.setdefault(measurement, {})
        order = list(sides)
        gc.disable()
        try:
            for n in range(rounds):
                for side in order if n % 2 else order[::-1]:
                    kept.setdefault(side, []).append(sides[side]() / scale)
        finally:
            gc.enable()

    def by_events(self, run: Callable[[], Any]) -> Callable[[], float]:
        """A timer of what `run` queues on the default stream; it has run before."""
        begin, end = self.cuda.event(), self.cuda.event()

        def timed(times: int) -> float:
            begin.record()
            for _ in range(times):
                run()
            end.record()
            end.synchronize()
            return 1e-3 * self.cuda.event_elapsed_time(begin, end) / times

        once = max(min(timed(1) for _ in range(2)), 1e-9)
        times = max(1, min(100, round(self.sizes.sample / once)))
        return lambda: timed(times)

    def by_clock(self, run: Callable[[], Any]) -> Callable[[], float]:
        """A timer of what passes until the device has done what `run` asks for."""

        def timed(times: int) -> float:
            self.driver.synchronize()
            start = time.perf_counter()
            for _ in range(times):
                run()
                self.driver.synchronize()
            return (time.perf_counter() - start) / times

        times = max(1, min(100, round(self.sizes.sample / max(timed(1), 1e-9))))
        return lambda: timed(times)

    def note(self, text: str) -> None:
        """Say once what is missing."""
        if text not in self.notes:
            self.notes.append(text)

    def check(self, what: str, right: bool, said: str = "") -> None:
        if not right:
            self.wrong.append(f"{what}: wrong result{said and ': '}{said}")


def address(array: Any) -> ctypes.c_uint64:
    return ctypes.c_uint64(array.__cuda_array_interface__["data"][0])


def poisoned(cuda: Any, shape: Any) -> Any:
    """An array whose every item has to be written."""
    return cuda.to_device(np.full(shape, np.nan, np.float32))


# --- launches ---


def kernel_of(cuda: Any, kind: str) -> Any:
    """The kernel of one kind of launch, as a user of `cuda` writes it."""
    names, body = LAUNCHES[kind]
    function = peers.define(f"def k({', '.join(names)}):\n{body}", "k")
    function.__globals__["cuda"] = cuda
    return cuda.jit(function)


def python_launch(cuda: Any, kind: str) -> tuple[str, dict[str, Any], Callable[[], Any]]:
    """A statement that launches, its names, and what shows the first array: of Treadle or numba-cuda."""
    names = LAUNCHES[kind][0]
    scope: dict[str, Any] = {name: cuda.to_device(np.ones(1)) for name in names}
    scope["k"] = kernel_of(cuda, kind)
    return f"k[1, 1]({', '.join(names)})", scope, lambda: scope["a0"].copy_to_host()


def cupy_launch(kind: str) -> tuple[str, dict[str, Any], Callable[[], Any]]:
    import cupy

    names = LAUNCHES[kind][0]
    scope: dict[str, Any] = {name: cupy.ones(1) for name in names}
    scope |= {"k": cupy.RawKernel(LAUNCHES_CUPY[kind], "k"), "one": (1,)}
    args = f"({', '.join(names)})" if names else "()"
    return f"k(one, one, {args})", scope, lambda: cupy.asnumpy(scope["a0"])


def numba_launch(kind: str) -> tuple[str, dict[str, Any], Callable[[], Any]]:
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    if not hasattr(np, "row_stack"):  # NumPy 2.5 has it no more, and numba 0.68 names it when it is imported
        np.row_stack = np.vstack  # type: ignore[attr-defined]
    from numba import cuda as theirs

    return python_launch(theirs, kind)


def launches_in_c(bench: Bench) -> Callable[..., float] | None:
    """`launches_time` of launches.c with the driver that Treadle uses; None, which is said, where that cannot be."""
    cc = creference.compiler()
    if cc is None:
        bench.note(f"launch: no C compiler ({', '.join(creference.COMPILERS)}) to compare with")
        return None
    bench.versions["C compiler"] = creference.version(cc)
    with tempfile.TemporaryDirectory() as folder:  # once open, the file may go
        try:
            built = creference.build(cc, Path(folder), "launches.c", {"launches": ["-ldl"]})
        except subprocess.CalledProcessError as why:
            bench.note(f"launch: {cc} does not build launches.c: exit status {why.returncode}")
            return None
        library = ctypes.CDLL(str(built["launches"]))
    library.launches_find.restype = ctypes.c_void_p
    found = library.launches_find(bench.driver.path.encode())
    if not found:
        bench.note(f"launch: launches.c does not find cuLaunchKernel in {bench.driver.path}")
        return None
    library.launches_time.restype = ctypes.c_double
    library.launches_time.argtypes = [
        *[ctypes.c_void_p] * 3,
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_int64,
    ]
    return functools.partial(library.launches_time, found)


@dataclass
class CLaunch:
    """What a C program needs to launch the same kernel: the function that Treadle's PTX is, and its parameters.

    Where each part of an argument lies is told by the compiler: its number (-1: where exceptions are noted), which part of it (1: the address, 2: the
    size), bytes, offset.
    """

    function: int
    params: Packed
    held: list[Any]

    @staticmethod
    def of(bench: Bench, kind: str) -> CLaunch:
        from treadle import typeof
        from treadle.cuda import _compile

        cuda = bench.cuda
        names = LAUNCHES[kind][0]
        sig = tuple(typeof(np.ones(1)) for _ in names)
        kernel = kernel_of(cuda, kind)
        text = _compile.text_of(
            kernel._kernel, sig, "ptx", True, _compile.device_flags(kernel.targetoptions), bench.cc()
        )
        function = bench.driver.function(bench.driver.load(text.text.encode()), "k")
        arrays = [cuda.to_device(np.ones(1)) for _ in names]
        record = cuda.to_device(np.zeros(256, np.uint8))
        values: list[Any] = []
        for arg, part, size, at in text.params:
            if size != 8 or at != 8 * len(values):
                raise AssertionError(f"a parameter of {size} bytes at {at}")  # none of these kernels has one
            values.append(
                address(record)
                if arg < 0
                else address(arrays[arg])
                if part == 1
                else ctypes.c_int64(arrays[arg].size)
            )
        return CLaunch(function, Packed(*values), [record, *arrays])

    def timer(self, launches: Callable[..., float], each: bool, times: int) -> Callable[[], float]:
        """Seconds a launch; parameters in one buffer, or `each` where a pointer says."""
        params = self.params

        def timed() -> float:
            took = launches(self.function, params.address, params.size, params.each if each else None, times)
            if took < 0:
                raise cuda_driver.DriverError(f"cuLaunchKernel: status {-took:.0f}")
            return took / times

        return timed


def measure_launches(bench: Bench, wanted: set[str]) -> None:
    """What a launch costs its caller: bursts, with the device's work waited for outside of what is timed."""
    launches, sizes = launches_in_c(bench), bench.sizes
    for kind in sorted(wanted):
        sides: dict[str, Callable[[], float]] = {}

        def add(side: str, timer: Callable[[], float]) -> None:
            def waited() -> float:
                took = timer()
                bench.cuda.synchronize()
                return took

            waited()

            sides[side] = waited

        def add_python(side: str, statement: str, scope: dict[str, Any], show: Callable[[], Any]) -> None:
            timer = timeit.Timer(statement, globals=scope)
            add(side, lambda: timer.timeit(sizes.burst) / sizes.burst)
            if "a0" in scope:
                bench.check(f"{kind}, {side}", float(show()[0]) == 3.0)

        ours = python_launch(bench.cuda, kind)
        add_python("treadle", *ours)
        ours[1]["configured"] = ours[1]["k"][1, 1]
        add_python("configured", ours[0].replace("k[1, 1]", "configured"), *ours[1:])
        for side, make in (("numba-cuda", numba_launch), ("cupy", cupy_launch)):
            try:
                add_python(side, *make(kind))
            except Exception as why:  # a peer's failure is a result, not the end of the run
                bench.note(f"{side}: {type(why).__name__}: {(str(why).splitlines() or [''])[0]}")
        if launches:
            program = CLaunch.of(bench, kind)
            first = program.held[1:2]
            for side, each in (("c", False), ("c, kernelParams", True)):
                try:
                    for array in first:
                        array.copy_to_device(np.ones(1))
                    add(side, program.timer(launches, each, sizes.burst))
                    for array in first:
                        bench.check(f"{kind}, {side}", float(array.copy_to_host()[0]) == 3.0)
                except cuda_driver.DriverError as why:
                    bench.note(f"{kind}, {side}: {why}")
        bench.turns(kind, sides, sizes.bursts)


# --- kernels ---


def grid_of(n: int) -> tuple[int, int]:
    """Blocks and threads that walk over n items, 32 for each: they fill a large GPU ten times, so that what is left over at the end is little."""
    return max(1, n // (32 * 256)), 256


def in_cuda_c(
    bench: Bench, name: str, grid: Sequence[int], block: Sequence[int], *args: Any
) -> Callable[[], None] | None:
    """A launch of a kernel of cuda_kernels.cu; arguments are device arrays and ints. None where there is no CUDA C."""
    module = bench.cuda_c()
    if module is None:
        return None
    function = bench.driver.function(module, name)
    params = Packed(*(ctypes.c_int(a) if isinstance(a, int) else address(a) for a in args))
    return lambda: bench.driver.launch(function, grid, block, params)


def measure_memory(bench: Bench, wanted: set[str]) -> None:
    """Copying along the grid's stride, and SAXPY as a ufunc, as shares of what the device's own copy moves in the same turns."""
    from treadle import vectorize

    cuda, n = bench.cuda, bench.sizes.line
    host = emulated.numbers(n)
    x, out = cuda.to_device(host), poisoned(cuda, n)
    to, origin = address(out).value, address(x).value
    copying = bench.by_events(lambda: bench.driver.copy(to, origin, 4 * n))

    if "memory/copy, grid stride" in wanted:
        grid, block = grid_of(n)

        @cuda.jit
        def k(a, out):
            for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
                out[i] = a[i]

        sides: dict[str, Callable[[], float]] = {"device copy": copying}
        runs = {
            "treadle": lambda: k[grid, block](x, out),
            "CUDA C": in_cuda_c(bench, "copy_stride", [grid], [block], x, out, n),
        }
        for side, run in runs.items():
            if run:
                out.copy_to_device(np.full(n, np.nan, np.float32))
                run()
                right = np.array_equal(out.copy_to_host(), host)
                bench.check(f"memory/copy, grid stride, {side}", right)
                sides[side] = bench.by_events(run)
        bench.turns("memory/copy, grid stride", sides, bench.sizes.rounds, 2 * host.nbytes)
    if "memory/saxpy, ufunc" in wanted:

        @vectorize(["float32(float32, float32, float32)"], target="cuda")
        def saxpy(a, x, y):
            return a * x + y

        a, y, result = np.float32(1.5), cuda.to_device(host[::-1].copy()), poisoned(cuda, n)
        saxpy(a, x, y, out=result)
        right = np.allclose(result.copy_to_host(), a * host + host[::-1], rtol=1e-6)
        bench.check("memory/saxpy, ufunc", right)
        # Both as seconds for a byte: SAXPY moves three arrays, a copy two.
        ufunc = bench.by_events(lambda: saxpy(a, x, y, out=result))
        both = {"treadle": lambda: ufunc() / 3, "device copy": lambda: copying() / 2}
        bench.turns("memory/saxpy, ufunc", both, bench.sizes.rounds, host.nbytes)


def measure_kernel(
    bench: Bench,
    name: str,
    launch: Callable[[Any], Any],
    in_c: Callable[[Any], Callable[[], None] | None],
    shape: Any,
    right: Callable[[np.ndarray], bool],
    more: Mapping[str, Callable[[Any], Any]] | None = None,
) -> None:
    """One kernel of Treadle's and of CUDA C: both right, equal bit for bit, then timed in turns.

    Parameters
    ----------
    launch, in_c, more
        Each takes the array for the result; `launch` launches, `in_c` gives a launch. `more` has further variants of Treadle's.
    right
        Of a result.
    """
    cuda, results = bench.cuda, {}
    ours, theirs = poisoned(cuda, shape), poisoned(cuda, shape)
    runs: dict[str, Callable[[], Any]] = {"treadle": lambda: launch(ours)}
    other = in_c(theirs)
    if other:
        runs["CUDA C"] = other
    for side, run in runs.items():
        run()
        results[side] = (ours if side == "treadle" else theirs).copy_to_host()
        bench.check(f"{name}, {side}", right(results[side]))
    if "CUDA C" in results and not np.array_equal(results["treadle"], results["CUDA C"]):
        most = float(np.abs(results["treadle"].astype(np.float64) - results["CUDA C"]).max())
        bench.check(name, False, f"not what CUDA C computes; off by {most:.3g} at most")
    for side, variant in (more or {}).items():
        out = poisoned(cuda, shape)
        variant(out)
        bench.check(f"{name}, {side}", right(out.copy_to_host()))
        runs[side] = lambda variant=variant, out=out: variant(out)
    bench.turns(name, {side: bench.by_events(run) for side, run in runs.items()}, bench.sizes.rounds)


def measure_kernels(bench: Bench, wanted: set[str]) -> None:
    """The kernels of emulated.py that have barriers, beside the same in CUDA C."""
    cuda, sizes = bench.cuda, bench.sizes
    if KERNELS[0] in wanted:
        side, tile = sizes.product, emulated.TILE
        a = emulated.numbers(side, side)
        want, da = a.astype(np.float64) @ a, cuda.to_device(a)
        grid, block, product = (side // tile, side // tile), (tile, tile), emulated.multiplying(cuda)
        measure_kernel(
            bench,
            KERNELS[0],
            lambda out: product[grid, block](da, da, out),
            lambda out: in_cuda_c(bench, "product", grid, block, da, da, out, side),
            (side, side),
            lambda out: bool(np.allclose(out, want, rtol=1e-4)),
        )
    if KERNELS[1] in wanted:
        side = sizes.side
        a = emulated.numbers(side, side)
        da, blocks = cuda.to_device(a), (side // 32, side // 32)
        tiles = emulated.transposing(cuda)

        @cuda.jit
        def naive(a, out):
            x, y = cuda.grid(2)
            out[x, y] = a[y, x]

        measure_kernel(
            bench,
            KERNELS[1],
            lambda out: tiles[blocks, (32, 8)](da, out),
            lambda out: in_cuda_c(bench, "transpose", blocks, (32, 8), da, out, side),
            (side, side),
            lambda out: np.array_equal(out, a.T),
            {"naive": lambda out: naive[(side // 32, side // 8), (32, 8)](da, out)},
        )
    if KERNELS[2] in wanted:
        n = sizes.line
        a = emulated.numbers(n)
        da, sums = cuda.to_device(a), a.reshape(-1, 512).sum(axis=1, dtype=np.float64)
        tree = emulated.adding_up(cuda)
        measure_kernel(
            bench,
            KERNELS[2],
            lambda out: tree[n // 512, 256](da, out),
            lambda out: in_cuda_c(bench, "reduction", (n // 512,), (256,), da, out),
            n // 512,
            lambda out: bool(np.allclose(out, sums, rtol=1e-5)),
        )


# --- the ladder ---


def measure_gaussian(bench: Bench, wanted: set[str]) -> None:
    """The normal density as a ufunc: on the host, and on the GPU from the host's arrays to results that have their place."""
    cuda = bench.cuda
    for case in sorted(wanted):
        dtype = {"f32": "float32", "f64": "float64"}[case.split("/")[1]]
        kind = np.dtype(dtype).type
        x = np.linspace(-3, 3, bench.sizes.elements).astype(dtype)
        want = elementwise.gaussian_expected(x, 0.25, 1.5)
        args = kind(0.25), kind(1.5)
        on_host, on_device = np.empty_like(x), cuda.to_device(x)
        out = cuda.to_device(np.full_like(x, np.nan))
        signature = [elementwise.signature(dtype, 3)]
        ours = {
            variant: peers.vectorizer(variant, signature)(elementwise.GAUSSIANS[dtype])
            for variant in ("treadle", "treadle-parallel", "treadle-cuda")
        }
        on_gpu = ours.pop("treadle-cuda")
        calls: dict[str, Callable[[], Any]] = {
            "numpy": lambda: elementwise.gaussian_numpy(x, *args),
            **{name: lambda f=f: f(x, *args, out=on_host) for name, f in ours.items()},
            HOST: lambda: on_gpu(x, *args),
            DEVICE: lambda: on_gpu(on_device, *args),
            OUT: lambda: on_gpu(on_device, *args, out=out),
        }
        try:
            from scipy.stats import norm

            calls["scipy"] = lambda: norm.pdf(x, *args)
        except ImportError as why:
            bench.note(f"no SciPy, so the gaussian is compared with NumPy's expression: {why}")
        for side, call in calls.items():
            got = call()
            got = got if isinstance(got, np.ndarray) else got.copy_to_host()
            close = np.allclose(got, want, rtol=1e-5 if dtype == "float32" else 1e-12)
            bench.check(f"{case}, {side}", bool(close))
        timers = {side: bench.by_clock(call) for side, call in calls.items()}
        bench.turns(case, timers, min(7, bench.sizes.rounds))


MEASURES: dict[str, Callable[[Bench, set[str]], None]] = {
    "launch": measure_launches,
    "memory": measure_memory,
    "kernel": measure_kernels,
    "gaussian": measure_gaussian,
}
