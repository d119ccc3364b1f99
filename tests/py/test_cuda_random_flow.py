"""Random kernels with barriers in any flow of control: loops that end early, threads that leave, bools that are kept, values from shared memory.

Each is compared with a model of its own, which is the kernel's text with a `yield` for each barrier: blocks one after the other, threads of a block round by round.
Where the model's threads come to different barriers, a launch must say so.
"""

from __future__ import annotations

import random
import re
import types

import numpy as np
import pytest
from cuda_check import compile_text
from sizes import PART
from treadle import cuda

HEAD = """
def k(out, q, p0, p1, p2):
    sh = SHARED(1024)
    tx, bx, n = cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockDim.x
    gid = bx * n + tx
    u0 = p0 + 1
    sh[tx] = 0
    BARRIER(0)
"""
STEPS = 200_000  # of a model's threads, at most


class Generator:
    """A kernel's text. `even`: all threads of a block come here."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.barriers = self.loops = 0
        self.left = rng.randint(8, 26)
        self.counters: list[str] = []

    def line(self, text: str, depth: int) -> None:
        self.lines.append("    " * depth + text)

    def var(self) -> str:
        return f"v{self.rng.randrange(4)}"

    def same(self) -> str:
        """A number that is the same for all."""
        r = self.rng
        return r.choice(
            [
                str(r.randint(0, 5)),
                f"p{r.randrange(3)}",
                "bx",
                f"(u0 % {r.randint(1, 5)})",
                f"q[{r.randrange(4)}]",
                *self.counters,
            ]
        )

    def own(self) -> str:
        """A number of each thread's."""
        r = self.rng
        return r.choice(
            [
                "tx",
                f"({self.var()} & 7)",
                f"(tx // {r.choice([2, 3, 16, 32])})",
                f"q[tx % {r.randint(1, 8)}]",
                f"({self.var()} + {self.same()})",
            ]
        )

    def test(self, even: bool) -> str:
        r = self.rng
        if even:
            return f"{self.same()} {r.choice(['<', '>', '==', '!=', '>='])} {self.same()}"
        if r.random() < 0.3:
            return r.choice(["c0", "c1", "not c0", "c0 and c1"])
        return f"{self.own()} % {r.randint(2, 6)} {r.choice(['<', '>', '==', '!='])} {r.randint(0, 4)}"

    def barrier(self, depth: int) -> None:
        self.barriers += 1
        self.line(f"BARRIER({self.barriers})", depth)

    def exchange(self, depth: int) -> None:
        r, v, w = self.rng, self.var(), self.var()
        self.line(f"sh[tx] = {v}", depth)
        self.barrier(depth)
        j = r.choice(
            [f"(tx + {r.randint(1, 9)}) % n", f"(tx ^ {r.randint(1, 9)}) % n", f"({self.var()} & 1023) % n"]
        )
        self.line(f"{w} = ({w} * 3 + sh[{j}]) & 65535", depth)
        self.barrier(depth)

    def block(self, depth: int, loop: bool, even: bool) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.statement(depth, loop, even)

    def statement(self, depth: int, loop: bool, even: bool) -> None:
        r = self.rng
        self.left -= 1
        if self.left < 0 or depth > 5:
            self.line(f"{self.var()} = ({self.own()} + 1) & 65535", depth)
            return
        kind = r.random()
        if kind < 0.25 or kind >= 0.97:
            self.exchange(depth)
        elif kind < 0.38:
            self.line(f"{self.var()} = ({self.var()} * {r.randint(1, 7)} + {self.own()}) & 65535", depth)
        elif kind < 0.43:
            self.line(f"c{r.randrange(2)} = {self.test(False)}", depth)
        elif kind < 0.47:
            self.line(
                f"u0 = (u0 * 3 + {self.same()}) & 255" if even else f"{self.var()} = {self.var()}", depth
            )
        elif kind < 0.62:
            same = even and r.random() < 0.7
            self.line(f"if {self.test(same)}:", depth)
            self.block(depth + 1, loop, same)
            if r.random() < 0.4:
                self.line("else:", depth)
                self.block(depth + 1, loop, same)
        elif kind < 0.82:
            self.loop(depth, even)
        elif kind < 0.93 and loop:
            self.line(f"if {self.test(even and r.random() < 0.6)}:", depth)
            if r.random() < 0.3:
                v = self.var()
                self.line(f"{v} = {v} + 1", depth + 1)
            self.line(r.choice(["break", "continue"]), depth + 1)
        else:
            self.line(f"if {self.test(r.random() < 0.4)}:", depth)
            self.line(f"out[gid, 0] = {self.var()} + 7", depth + 1)
            self.line("return", depth + 1)

    def loop(self, depth: int, even: bool) -> None:
        r = self.rng
        i = f"i{self.loops}"
        self.loops += 1
        same = even and r.random() < 0.8
        rounds = f"({self.same() if same else self.own()}) % 5"
        if r.random() < 0.5:
            self.line(f"for {i} in range({rounds}):", depth)
            if same:
                self.counters.append(i)
            self.block(depth + 1, True, same)
            if same:
                self.counters.remove(i)
            if r.random() < 0.15:
                self.line("else:", depth)
                self.block(depth + 1, False, even)
            return
        self.line(f"{i} = {rounds}", depth)
        self.line("while True:" if r.random() < 0.3 else f"while {i} > 0:", depth)
        if self.lines[-1].endswith("True:"):
            self.line(f"if {i} <= 0:", depth + 1)
            self.line("break", depth + 2)
        self.line(f"{i} -= 1", depth + 1)
        self.block(depth + 1, True, same)

    def text(self) -> str:
        r = self.rng
        for k in range(4):
            self.line(f"v{k} = {r.choice(['tx', 'bx + 1', 'tx * 3 & 255', 'p1', 'gid & 255'])}", 1)
        self.line("c0, c1 = tx % 3 == 1, q[tx % 8] > 4", 1)
        while self.left > 0:
            self.block(1, False, True)
        self.exchange(1)
        for k in range(4):
            self.line(f"out[gid, {k + 1}] = v{k}", 1)
        return HEAD + "\n".join(self.lines) + "\n"


def expected(text: str, blocks: int, size: int, q: np.ndarray, p: list[int]) -> np.ndarray | str:
    """What the kernel stores; "apart": threads wait at different barriers; "long": it takes too many steps to say."""
    device = types.SimpleNamespace()
    shared: list[int] = []
    scope = {"cuda": device, "SHARED": lambda n: shared}
    exec(re.sub(r"BARRIER\((\d+)\)", r"yield \1", text), scope)
    out, steps = np.full((blocks * size, 5), -1, np.int64), 0
    device.blockDim = types.SimpleNamespace(x=size)
    for b in range(blocks):
        shared = [0] * 1024
        scope["SHARED"] = lambda n, mine=shared: mine
        device.blockIdx = types.SimpleNamespace(x=b)
        threads = [scope["k"](out, q, *p) for _ in range(size)]
        live = list(range(size))
        while live:
            waits = {}
            for t in live:
                device.threadIdx = types.SimpleNamespace(x=t)
                at = next(threads[t], None)
                if at is not None:
                    waits[t] = at
                steps += 1
            if steps > STEPS:
                return "long"
            if len(set(waits.values())) > 1:
                return "apart"
            live = list(waits)
    return out


def check(seed: int, debug: bool = False) -> None:
    rng = random.Random(seed)
    text = Generator(rng).text()
    blocks, size = rng.choice([1, 2, 3]), rng.choice([1, 5, 32, 33, 64, 96, 100])
    q, p = np.array([rng.randint(0, 9) for _ in range(8)]), [rng.randint(0, 4) for _ in range(3)]
    want = expected(text, blocks, size, q, p)
    if isinstance(want, str) and want == "long":
        return
    ours = re.sub(r"BARRIER\(\d+\)", "cuda.syncthreads()", text).replace(
        "SHARED(1024)", "cuda.shared.array(1024, np.int64)"
    )
    kernel, out = (
        cuda.jit(debug=debug)(compile_text(ours, "k", np=np, cuda=cuda)),
        np.full((blocks * size, 5), -1, np.int64),
    )
    if isinstance(want, str):
        if not cuda.is_emulated():  # hardware counts who comes to any barrier
            return
        with pytest.raises(RuntimeError, match="wait at different barriers"):
            kernel[blocks, size](out, q, *p)
    else:
        kernel[blocks, size](out, q, *p)
        np.testing.assert_array_equal(
            out, want, err_msg=f"seed {seed}, {blocks} blocks of {size}, q = {q}, p = {p}\n{ours}"
        )


@pytest.mark.parametrize("seed", range(0, 120, 1 if PART == 1 else 4))
def test_random_flow(seed):
    check(seed)


@pytest.mark.filterwarnings("ignore::treadle.errors.KernelCheckWarning")
@pytest.mark.parametrize("seed", range(0, 60, 2 if PART == 1 else 8))
def test_random_flow_is_watched_in_silence(seed):
    """Checks find nothing in kernels that are right, and what is wrong is told as without them."""
    check(seed, debug=True)
