"""An oracle for what the threads of a block do together, and ways to run a kernel's typed IR without the emulated device.

`model` runs a kernel's own text by CPython: each call at which threads meet becomes a `yield` of its name and arguments. A thread runs to its next one;
then whoever can go on does, as CUDA has it: lanes that a mask names when all of them are at the call, threads of the block at a barrier.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from built import treadlec_path
from cuda_check import compile_text

WARP = 32
MEET = re.compile(r"cuda\.((?:syncthreads|syncwarp|shfl|match|all|any|eq|ballot|activemask)\w*)\(")


def _as_generator(text: str) -> str:
    """`cuda.f(x, y)` becomes `(yield ("f", x, y))`, innermost last: arguments may meet, too."""
    while found := MEET.search(text):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inside = text[found.end() : end - 1]
        text = f'{text[: found.start()]}(yield ("{found[1]}", {inside})){text[end:]}'
    return text


class _Thread:
    def __init__(self, run: Any, at: int) -> None:
        self.run, self.at = run, at
        self.call: tuple[Any, ...] | None = None
        self.step(None)

    def step(self, value: Any) -> None:
        try:
            self.call = self.run.send(value)
        except StopIteration:
            self.call = None

    @property
    def place(self) -> Any:
        return self.call and (self.call[0], self.run.gi_frame.f_lasti)


def _bits(x: Any) -> bytes:
    return np.asarray(x).tobytes()


def _lanes(call: str, me: int, by: int) -> int:
    return {
        "shfl_sync": by % 32,
        "shfl_up_sync": me - by % 32,
        "shfl_down_sync": me + by % 32,
        "shfl_xor_sync": me ^ by % 32,
    }[call]


def _together(lanes: dict[int, _Thread]) -> dict[int, Any]:
    """What each of the lanes gets that are at one call."""
    name = next(iter(lanes.values())).call[0]
    given = {k: t.call[2:] for k, t in lanes.items()}
    if name == "syncwarp":
        return dict.fromkeys(lanes)
    if name.startswith("shfl"):
        from_ = {k: _lanes(name, k, int(g[1])) for k, g in given.items()}

        def value(k: int) -> Any:
            if 0 <= from_[k] < WARP and from_[k] not in given:
                return type(given[k][0])(0)  # as GPUs have it
            return given[from_[k] if from_[k] in given else k][0]

        return {k: value(k) for k in lanes}
    if name == "match_any_sync":
        return {
            k: np.uint32(sum(1 << j for j in lanes if _bits(given[j][0]) == _bits(given[k][0])))
            for k in lanes
        }
    if name == "match_all_sync":
        same = len({_bits(g[0]) for g in given.values()}) == 1
        return dict.fromkeys(lanes, (np.uint32(sum(1 << j for j in lanes) if same else 0), same))
    yes = sum(1 << k for k, g in given.items() if g[0])
    everybody = sum(1 << k for k in lanes)
    answer = {
        "all_sync": yes == everybody,
        "any_sync": yes != 0,
        "eq_sync": yes in (0, everybody),
        "ballot_sync": np.uint32(yes),
    }
    return dict.fromkeys(lanes, answer[name])


def _warp_goes_on(threads: list[_Thread]) -> bool:
    moved, went = False, 0  # who went on is not where others wait for it
    here = {t.at % WARP: t for t in threads if t.call}
    for lane, t in list(here.items()):
        if lane not in here or not t.call[0].endswith(("_sync", "syncwarp")):
            continue
        mask = int(t.call[1]) & 0xFFFFFFFF if len(t.call) > 1 else 0xFFFFFFFF
        named = {k: o for k, o in here.items() if mask >> k & 1}
        if not went & mask and all(o.place == t.place for o in named.values()):
            for k, value in _together(named).items():
                named[k].step(value)
                went |= 1 << k
            moved = True
            here = {k: o for k, o in here.items() if k not in named}
    if not moved:
        for t in here.values():
            if t.call[0] == "activemask":
                place = t.place
                group = {k: o for k, o in here.items() if o.place == place}
                mask = np.uint32(sum(1 << k for k in group))
                for o in group.values():
                    o.step(mask)
                return True
    return moved


def _block_goes_on(threads: list[_Thread]) -> None:
    waiting = [t for t in threads if t.call]
    name = waiting[0].call[0]
    assert all(t.call[0].startswith("syncthreads") for t in waiting), "threads wait for each other"
    yes = [bool(t.call[1]) for t in waiting if len(t.call) > 1]
    answer = {
        "syncthreads": None,
        "syncthreads_count": sum(yes),
        "syncthreads_and": int(all(yes)),
        "syncthreads_or": int(any(yes)),
    }[name]
    for t in waiting:
        t.step(answer)


def model(text: str, blocks: int, block: int, *args: Any, name: str = "k", **names: Any) -> None:
    """Run the kernel of the text on these arguments, in place."""
    text = _as_generator(text)
    for b in range(blocks):
        made: dict[int, dict[int, Any]] = {}
        threads = []
        for t in range(block):
            mine = made.setdefault(0, {})
            count = iter(range(100))

            def shared(shape: Any, dtype: Any, mine: Any = mine, count: Any = count) -> Any:
                return mine.setdefault(next(count), np.full(shape, 111, dtype))

            cuda = SimpleNamespace(
                threadIdx=SimpleNamespace(x=t, y=0, z=0),
                blockIdx=SimpleNamespace(x=b, y=0, z=0),
                blockDim=SimpleNamespace(x=block, y=1, z=1),
                gridDim=SimpleNamespace(x=blocks, y=1, z=1),
                grid=lambda n, i=b * block + t: i,
                laneid=t % WARP,
                warpsize=WARP,
                lanemask_lt=lambda t=t: np.uint32((1 << t % WARP) - 1),
                popc=lambda x: int(x).bit_count(),
                shared=SimpleNamespace(array=shared),
            )
            threads.append(_Thread(compile_text(text, name, **{**names, "cuda": cuda})(*args), t))
        while any(t.call for t in threads):
            moved = False
            for w in range(0, block, WARP):
                moved |= _warp_goes_on(threads[w : w + WARP])
            if not moved:
                _block_goes_on(threads)


# --- a kernel's typed IR ---

_END = "; end of kernel"  # a line of its own
_DUMP = f"""
import linecache
import sys
import numpy as np
from treadle import cuda
def made(d, n):
    if d is tuple:
        return tuple(made(*x) for x in n)
    return np.zeros([1] * n, d) if n else np.dtype(d).type(0)
for line in sys.stdin:
    text, args = eval(line)
    scope = {{"cuda": cuda, "np": np}}
    linecache.cache["<kernel>"] = (len(text), None, text.splitlines(True), "<kernel>")
    try:
        exec(compile(text, "<kernel>", "exec"), scope)
        cuda.jit(scope["k"])[1, 1](*[made(*a) for a in args])
        cuda.synchronize()
    except cuda.cudadrv.driver.CudaAPIError:  # of a kernel that needs more items, on a GPU: the context has ended
        sys.exit()
    except Exception as e:
        print(f"; --- {{type(e).__name__}}: {{e}}".splitlines()[0], file=sys.stderr)
    print("{_END}", file=sys.stderr, flush=True)
"""


@functools.cache
def _dumper() -> subprocess.Popen[str]:
    """A Python that prints the typed IR of the kernels it is given: starting one takes longer than most kernels."""
    return subprocess.Popen(
        [sys.executable, "-c", _DUMP],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TREADLE_DUMP": "infer"},
    )


@functools.cache
def typed(text: str, args: tuple[tuple[Any, Any], ...]) -> str:
    """The typed IR of kernel `k` and what it calls, for arguments of these dtypes and numbers of axes."""
    child = _dumper()
    assert child.stdin and child.stderr
    print(repr((text, args)).replace("<class 'tuple'>", "tuple"), file=child.stdin, flush=True)
    told = []
    for line in child.stderr:
        if line.startswith(_END):
            break
        told.append(line)
    else:  # it has died, and the next kernel gets another
        _dumper.cache_clear()
    said = "".join(told)
    ir = re.sub(r"(?m)^; --- .*\n?", "", said)
    assert ir.count("kernel fn @k ") == 1, said
    # what launches it is not for a device; numbers of functions stay
    return ir.replace(ir.partition("kernel fn")[0], "fn @launch -> none {\nb0:\n  ret undef:none\n}\n", 1)


def _type_of(a: Any) -> tuple[Any, Any]:
    if isinstance(a, tuple):
        return tuple, tuple(map(_type_of, a))
    return (a.dtype.str, a.ndim) if isinstance(a, np.ndarray) else (type(a).__name__, 0)


def _types_of(args: tuple[Any, ...]) -> tuple[tuple[Any, Any], ...]:
    return tuple(map(_type_of, args))


def _written(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return "[" + ", ".join(_written(v) for v in x) + "]"
    if isinstance(x, (bool, np.bool_)):
        return str(bool(x)).lower()
    return repr(x.item() if isinstance(x, np.generic) else x)


def treadlec(*options: str, text: str) -> subprocess.CompletedProcess[str]:
    """Run treadlec on a text."""
    return subprocess.run(
        [treadlec_path(), *options, "-"], input=text, capture_output=True, text=True, check=False
    )


def interpret(text: str, blocks: int, block: int, *args: Any, nbytes: int = 0) -> list[Any]:
    """The arguments as the interpreter of typed IR leaves them."""
    ir = typed(text, _types_of(args))
    call = f"k[{blocks}, {block}, {nbytes}]({', '.join(map(_written, args))})"
    done = treadlec("--set=inline_always=1", "--run=simplify,inline,simplify", "--interp", call, text=ir)
    assert done.stdout.startswith("none"), done.stdout + done.stderr
    names = [n for n in re.findall(r"%(\w+): ", re.search(r"kernel fn @k .*\nb0\((.*)\)", ir)[1])]
    left = dict(re.findall(r"%(\w+) = \[(.*?)\]", done.stdout))
    values = {"nan": np.nan, "inf": np.inf, "true": True, "false": False}
    return [
        np.array([values[v] if v in values else eval(v, {**values}) for v in left[n].split(", ")]).astype(
            a.dtype
        )
        if n in left
        else a
        for n, a in zip(names, args)
    ]


def check_interpreted(text: str, blocks: int, block: int, *args: Any) -> None:
    """The interpreter and the model do the same to the arguments."""
    want = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(all="ignore"):
        model(text, blocks, block, *want)
    for k, (g, w) in enumerate(zip(interpret(text, blocks, block, *args), want)):
        np.testing.assert_array_equal(g, w, err_msg=f"argument {k} of\n{text}")


def ptx(text: str, processor: str, *args: Any, tmp: Path | None = None) -> str:
    """The kernel as PTX."""
    done = treadlec(f"--target=nvptx64:{processor}", "--only=k", text=typed(text, _types_of(args)))
    assert done.returncode == 0, done.stderr
    return done.stdout
