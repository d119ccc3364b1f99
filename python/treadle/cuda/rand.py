"""Random numbers for arrays of the device: cuRAND's generators, with its numbers, on the emulated device as on a GPU, and without its library.

>>> from treadle.cuda.rand import PRNG
>>> prng = PRNG(PRNG.PHILOX4_32_10, seed=1234)
>>> d = cuda.device_array(1000, np.float32)
>>> prng.uniform(d)
>>> d.copy_to_host()[:2].round(3)
array([0.127, 0.853], dtype=float32)
"""

from __future__ import annotations

import bisect
import functools
import numbers
import operator
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import cuda
from .._core import _normal
from ..errors import UnsupportedError
from . import _draws, _rand_state, _rand_twister
from ._array import DeviceNDArray, allocate, move, on_device
from ._devices import is_emulated
from ._interop import as_cuda_array, is_cuda_array
from ._kernel import Kernel
from ._stream import check_stream, event
from .args import Out

if TYPE_CHECKING:
    from ._typing import StreamLike

__all__ = ["PRNG", "QRNG", "lognormal", "normal", "poisson", "quasi", "uniform"]

_FLOATS = {np.dtype(np.float32): "32", np.dtype(np.float64): "64"}
_SEEDS = 1 << 64
_MOST_RATE = 2.0**31
_AT_ONCE = (
    1 << 22
)  # items of which each needs some bytes of the device meanwhile: 8 of Poisson's distribution


def _blocks(n: int, threads: int = _draws.THREADS) -> int:
    return max(1, -(-n // threads))


def _number(what: str, given: Any) -> int:
    """A seed or an offset: TypeError for what is no integer, ValueError for what 64 bits do not hold."""
    try:
        n = operator.index(given)
    except TypeError:
        raise TypeError(f"the {what} is an integer, not {given!r}") from None
    if not 0 <= n < _SEEDS:
        raise ValueError(f"the {what} is from 0 to 2**64 - 1, not {n}")
    return n


def _real(what: str, given: Any) -> float:
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if not isinstance(given, (numbers.Number, np.bool_)) or isinstance(given, (complex, np.complexfloating)):
        raise TypeError(f"{what} is a real number, not {given!r}")
    return float(given)  # type: ignore[arg-type]


def _array(ary: Any, size: Any, known: Any) -> Any:
    """The array to fill, or its first ``size`` items."""
    if not isinstance(ary, (np.ndarray, DeviceNDArray)):
        if not is_cuda_array(ary):
            raise TypeError(
                f"random numbers are put into an array of the host or the device, not {type(ary).__name__}"
            )
        ary = as_cuda_array(ary)
    if ary.ndim != 1:
        raise TypeError(f"only arrays of one axis are filled, this one has {ary.ndim}")
    if ary.size > 1 and ary.strides[0] != ary.dtype.itemsize:
        raise TypeError("only arrays whose items lie side by side are filled, no slices with a step")
    if ary.dtype not in known:
        raise TypeError(f"the array is of {' or '.join(map(str, known))}, not {ary.dtype}")
    if isinstance(ary, np.ndarray) and not ary.flags.writeable:
        raise TypeError("the array is read-only")
    if not (ary if isinstance(ary, np.ndarray) else ary._argument).flags.aligned:
        raise TypeError("only arrays whose items are aligned are filled: copy it first")
    if size is None:
        return ary
    n = operator.index(size)
    if not 0 <= n <= ary.size:
        raise ValueError(f"size is {n}, and the array has {ary.size} items")
    return ary if n == ary.size else ary[:n]


class _Generator:
    """What both kinds have: an offset, a stream, and where they have come to.

    Attributes
    ----------
    offset : int
        Where in its sequence the generator began; setting it begins there.
    stream : Stream
        What fills arrays.
    """

    def __init__(self, offset: Any, stream: Any) -> None:
        check_stream(stream)
        self._stream = stream or 0
        self._offset = 0 if offset is None else _number("offset", offset)
        self._kept: dict[str, Any] = {}  # on the device
        self._begin()

    def _begin(self) -> None:
        self._at = self._offset
        self._kept.clear()

    @property
    def offset(self) -> int:
        """Where in its sequence it began; setting it begins there, as the seed has it."""
        return self._offset

    @offset.setter
    def offset(self, offset: int) -> None:
        self._offset = _number("offset", offset)
        self._begin()

    @property
    def stream(self) -> StreamLike:
        """What fills arrays. Another one comes after what the former was given so far."""
        return self._stream

    @stream.setter
    def stream(self, stream: StreamLike) -> None:
        check_stream(stream)
        stream = stream or 0
        if self._stream and self._kept and stream is not self._stream:
            so_far = event(False)
            so_far.record(self._stream)
            so_far.wait(stream)
        self._stream = stream

    def __reduce__(self) -> Any:
        """TypeError: what it has come to lies on the device."""
        raise TypeError(
            f"{self!r} is neither copied nor pickled: make another one with its seed and an offset"
        )

    def _to_device(self, values: np.ndarray[Any, Any]) -> Any:
        made = allocate(values.shape, values.dtype, stream=self._stream)
        move(made, values, self._stream)
        return made

    def _launch(self, kernel: Kernel[...], grid: Any, block: int, out: Any, *args: Any) -> None:
        kernel[grid, block, self._stream](
            Out(out) if isinstance(out, np.ndarray) and not on_device(out) else out, *args
        )

    def _fill(self, ary: Any, size: Any, kind: str, known: Any, mean: Any = 0, deviation: Any = 0) -> None:
        """Fill an array, of one of the known types, with what a kind of draw gives."""
        raise NotImplementedError

    def uniform(self, ary: Any, size: int | None = None) -> None:
        """Fill an array of float32 or float64 with numbers of (0, 1], as `generate` does with words."""
        self._fill(ary, size, "unit", _FLOATS)

    def normal(self, ary: Any, mean: float = 0.0, sigma: float = 1.0, size: int | None = None) -> None:
        """Fill an array of float32 or float64 with normal numbers.

        A `PRNG` makes two of one draw (Box and Muller); of an odd number the last draw's second is left out. A `QRNG` gives the quantiles that coordinates are the probabilities of.

        Parameters
        ----------
        ary, size
            As `generate` has them.
        mean, sigma : float
            Mean and standard deviation.
        """
        self._fill(ary, size, "normal", _FLOATS, _real("mean", mean), _real("sigma", sigma))

    def lognormal(self, ary: Any, mean: float = 0.0, sigma: float = 1.0, size: int | None = None) -> None:
        """Fill an array with e to the power of what `normal` gives."""
        self._fill(ary, size, "lognormal", _FLOATS, _real("mean", mean), _real("sigma", sigma))


class _Rows:
    """xorwow or MRG32k3a: thousands of sequences far apart, of which each item takes the next one's."""

    def __init__(self, of: str, many: int, jumps: Any, start: Any, spread: Kernel[...]) -> None:
        self.of, self.many = of, many
        self._jumps, self._start, self._spread = jumps, start, spread

    def begin(self, g: PRNG) -> Any:
        """The states, (6, sequences) of uint32, where item ``g._at`` is the next one."""
        step, ahead = divmod(g._at, self.many)
        state = allocate((6, self.many), np.uint32, stream=g._stream)
        first = np.array(self._start(g._seed, step), np.uint32).reshape(6, 1)
        move(state[:, :1], first, g._stream)
        at, k = 1, 0
        jumps = g._to_device(self._jumps())
        while at < self.many:
            n = min(at, self.many - at)
            g._launch(self._spread, _blocks(n), _draws.THREADS, state, jumps[k], at, n)
            at, k = at + n, k + 1
        if ahead:  # these have given one more
            spare = allocate((ahead,), np.uint32, stream=g._stream)
            g._launch(
                _draws.sequences(self.of, "bits"), _blocks(ahead), _draws.THREADS, spare, state, 0, 0.0, 0.0
            )
        return state

    def fill(self, g: PRNG, out: Any, kind: str, mean: Any, deviation: Any) -> None:
        state = g._kept.get("state")
        if state is None:
            state = g._kept["state"] = self.begin(g)
        n = -(-out.size // _draws.KINDS[kind])
        kernel = _draws.sequences(self.of, kind)
        g._launch(
            kernel, _blocks(min(n, self.many)), _draws.THREADS, out, state, g._at % self.many, mean, deviation
        )
        g._at += n

    def fill_around(self, g: PRNG, out: Any, kind: str, lead: int, n: int) -> None:
        """The draws that n items are of."""
        self.fill(g, out, kind, 0.0, 0.0)


class _Philox:
    """Philox4x32-10: what an item is follows from its place. Four items are of a group, each of 65,536 groups in turn has a counter of its own."""

    def fill(self, g: PRNG, out: Any, kind: str, mean: Any, deviation: Any) -> None:
        blocks = 2 if kind.endswith("64") else 1  # that a group's four items take
        first, skip = divmod(g._at, 4)
        last = (g._at + out.size) // 4
        base, counts = self._bases(g, first, last, blocks)
        low, high = g._seed & 0xFFFFFFFF, g._seed >> 32
        head = min(out.size, -skip % 4)
        whole = (out.size - head) // 4
        end = head + 4 * whole

        def some(part: Any, group: int, skip: int, n: int, unbroken: bool) -> None:
            args = group, skip, base, np.uint32(low), np.uint32(high), mean, deviation
            g._launch(_draws.philox(kind, unbroken), _blocks(n), _draws.THREADS, part, *args)

        if head:
            some(out[:head], first, skip, 1, False)
        if whole:
            some(out if whole * 4 == out.size else out[head:end], first + (head > 0), 0, whole, True)
        if end < out.size:
            some(out[end:], first + (head > 0) + whole, 0, 1, False)
        g._kept["counts"] = counts
        g._at += out.size

    def fill_around(self, g: PRNG, out: Any, kind: str, lead: int, n: int) -> None:
        """The next n items, ``lead`` before them, and what ``out`` has behind them."""
        at = g._at
        _, after = self._bases(g, at // 4, (at + n) // 4, 2 if kind.endswith("64") else 1)
        g._at = at - lead
        try:
            self.fill(g, out, kind, 0.0, 0.0)
        except BaseException:
            g._at = at
            raise
        g._at, g._kept["counts"] = at + n, after

    def _bases(self, g: PRNG, first: int, last: int, blocks: int) -> tuple[Any, Any]:
        """What, beside a row's number, ``blocks`` times, says which block of its sequence a group from ``first`` on takes: a number, or one for each sequence where calls took one and two.

        And what each sequence has given when the groups before ``last`` are done, which ``g._kept["counts"]`` becomes then: where runs begin, and what is given in each.
        """
        many = _draws.PHILOX_SEQUENCES
        row, place = divmod(first, many)
        starts, given = g._kept.get("counts") or self._given(g._offset // 4)
        cuts = sorted({*starts, place, last % many})
        given = [given[bisect.bisect(starts, c) - 1] for c in cuts]
        bases, after = [], []
        for start, count in zip(cuts, given):
            turn = row + (start < place)  # when the call comes to it
            bases.append(count - blocks * turn)
            times = last // many + (start < last % many) - turn
            after.append(count + blocks * max(0, times))
        runs = [k for k in range(len(cuts)) if k == 0 or after[k] != after[k - 1]]
        counts = [cuts[k] for k in runs], [after[k] for k in runs]
        met = [b for c, b, e in zip(cuts, bases, [*cuts[1:], many]) if self._is_met(c, e, first, last)]
        if len({*met}) <= 1:
            return (met[0] if met else 0), counts
        return g._to_device(np.repeat(np.array(bases, np.int64), np.diff([*cuts, many]))), counts

    @staticmethod
    def _given(first: int) -> tuple[list[int], list[int]]:
        row, place = divmod(first, _draws.PHILOX_SEQUENCES)
        return ([0, place], [row + 1, row]) if place else ([0], [row])

    @staticmethod
    def _is_met(start: int, end: int, first: int, last: int) -> bool:
        """Whether a group from ``first`` to ``last`` is of the sequences from ``start`` up to ``end``."""
        many = _draws.PHILOX_SEQUENCES
        return (start - first) % many <= last - first or (first - start) % many < end - start


class _Twister:
    """MT19937: 8,192 generators far apart, of which each gives eight items in turn, of a word each. What an item is follows from its place."""

    def fill(self, g: PRNG, out: Any, kind: str, mean: Any, deviation: Any) -> None:
        done = 0
        while done < out.size:
            block, first = divmod(g._at, _rand_twister.BLOCK)
            n = min(out.size - done, _rand_twister.BLOCK - first, _AT_ONCE)
            state, places = self._state(g, block, first, n)
            part = out if n == out.size else out[done : done + n]
            words = part if kind == "bits" else allocate((n,), np.uint32, stream=g._stream)
            g._launch(_draws.twisted, _blocks(n), _draws.THREADS, words, state, places, first)
            if kind != "bits":
                g._launch(_draws.made_of(kind), _blocks(n), _draws.THREADS, part, words, mean, deviation)
            g._at += n
            done += n

    def _state(self, g: PRNG, block: int, first: int, n: int) -> tuple[Any, Any]:
        """The words of all generators that are asked, in that block."""
        row, lanes = _rand_twister.GENERATORS * _rand_twister.LANES, _rand_twister.LANES
        begin = first % row
        needed = _rand_twister.GENERATORS if begin + n > row else -(-(begin + n) // lanes)
        many, at, state, places = g._kept.get("state") or (0, 0, None, None)
        if many < needed:
            many, at = max(_draws.THREADS, 1 << (needed - 1).bit_length()), block
            state = g._to_device(_draws.begun(g._seed, block, many).T.copy())
            places = g._to_device(_rand_twister.PLACES)
        for _ in range(block - at):
            g._launch(_draws.twist, many // _draws.THREADS, _draws.THREADS, state)
        g._kept["state"] = many, block, state, places
        return state, places


class PRNG(_Generator):
    """A generator of random numbers, of which a seed chooses the sequence.

    Words and numbers of (0, 1] are cuRAND's, bit for bit; normal ones differ from its in the last places, and Poisson's are of another algorithm.
    Calls go on where the last one ended, whatever their sizes.

    Parameters
    ----------
    rndtype : int
        ``PRNG.XORWOW``, which ``PRNG.DEFAULT`` stands for, ``PRNG.MRG32K3A``, ``PRNG.PHILOX4_32_10`` or ``PRNG.MT19937``.
    seed : int, optional
        Of 64 bits; else 0. Of MT19937 the lower 32 count.
    offset : int, optional
        Begin behind so many items.
    stream : Stream, optional
        What fills arrays.
    exact : bool
        On the emulated device: make normal and lognormal numbers by the C library's functions, one after the other, as cuRAND's generators of the host do: they are its numbers, bit for bit.

    Raises
    ------
    UnsupportedError
        ``exact`` on a GPU; MTGP32, whose sequences are not known.
    ValueError
        Another ``rndtype``; ``exact`` with MT19937; a seed or an offset that is negative or has more than 64 bits.

    Examples
    --------
    >>> a = np.empty(3)
    >>> cuda.rand.PRNG(cuda.rand.PRNG.MRG32K3A, seed=7).normal(a, mean=10.0, sigma=2.0)
    >>> a.round(3)
    array([13.461, 12.64 , 10.098])
    """

    TEST, DEFAULT = 0, 100
    XORWOW, MRG32K3A, MTGP32, MT19937, PHILOX4_32_10 = 101, 121, 141, 142, 161

    def __init__(
        self,
        rndtype: int = DEFAULT,
        seed: int | None = None,
        offset: int | None = None,
        stream: StreamLike | None = None,
        *,
        exact: bool = False,
    ) -> None:
        self._way: Any = _way(rndtype)
        self._type = rndtype
        self._exact = bool(exact)
        if exact and rndtype == 142:
            raise ValueError(
                "MT19937: cuRAND's normal numbers are quantiles by a formula that is not published, so none are exact"
            )
        if exact and not is_emulated():
            raise UnsupportedError(
                "exact normal numbers are those of the host's C library: the emulated device has them, a GPU has not"
            )
        self._seed = 0 if seed is None else _number("seed", seed)
        super().__init__(offset, stream)

    @property
    def seed(self) -> int:
        """What chooses the sequence; setting it begins anew, at the offset."""
        return self._seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._seed = _number("seed", seed)
        self._begin()

    def _fill(self, ary: Any, size: Any, kind: str, known: Any, mean: Any = 0, deviation: Any = 0) -> None:
        out = _array(ary, size, known)
        of = out.dtype.type if out.dtype in _FLOATS else np.float64
        if out.size and self._exact and kind.endswith("normal"):
            self._fill_exactly(out, kind, of(mean), of(deviation))
        elif out.size:
            kind += _FLOATS.get(out.dtype, "")
            self._way.fill(self, out, kind, of(mean), of(deviation))

    def _fill_exactly(self, out: Any, kind: str, mean: Any, deviation: Any) -> None:
        """Pairs of what normal numbers are made of, and these by the C library."""
        lead = self._at % 2 if self._type == 161 else 0  # Philox counts items, not pairs
        n = lead + out.size + (lead + out.size) % 2
        pairs = allocate((n,), out.dtype, stream=self._stream)
        self._way.fill_around(self, pairs, "pair" + _FLOATS[out.dtype], lead, out.size)
        _normal(pairs, kind == "lognormal", mean, deviation, self._stream)
        move(
            out if isinstance(out, np.ndarray) else out._argument, pairs[lead : lead + out.size], self._stream
        )

    def generate(self, ary: Any, size: int | None = None) -> None:
        """Fill an array with words of 32 bits, all equally likely.

        Parameters
        ----------
        ary : ndarray or DeviceNDArray, (n,), of uint32
            Its items lie side by side. One of the host is there when the call returns, also on a stream.
        size : int, optional
            Only its first ``size`` items.

        Raises
        ------
        TypeError
            The array is of another dtype, has more than one axis, or is a slice with a step.
        ValueError
            ``size`` is negative or more than there are.
        """
        self._fill(ary, size, "bits", (np.dtype(np.uint32),))

    def poisson(self, ary: Any, lmbd: float, size: int | None = None) -> None:
        """Fill an array of uint32 with numbers of Poisson's distribution, by inversion: each takes one draw of 53 bits.

        Parameters
        ----------
        ary, size
            As `generate` has them.
        lmbd : float
            The mean, from 0 up to 2**31. A table of some 24 times its root is made for it, and kept until another one is asked for.

        Raises
        ------
        ValueError
            ``lmbd`` is none of these.
        """
        out = _array(ary, size, (np.dtype(np.uint32),))
        rate = _real("lmbd", lmbd)
        if not 0.0 <= rate <= _MOST_RATE:
            raise ValueError(f"lmbd is from 0 to 2**31, not {lmbd}")
        first, reached, guide = self._table(rate)
        for at in range(0, out.size, _AT_ONCE):
            part = out if out.size <= _AT_ONCE else out[at : at + _AT_ONCE]
            drawn = allocate(part.shape, np.uint64, stream=self._stream)
            self._way.fill(self, drawn, "wide64", np.float64(0), np.float64(0))
            self._launch(
                _draws.poisson, _blocks(part.size), _draws.THREADS, part, drawn, first, reached, guide
            )

    def _table(self, rate: float) -> tuple[int, Any, Any]:
        known = self._kept.get("table")
        if known is None or known[0] != rate:
            first, reached, guide = _rand_state.reached(rate)
            known = self._kept["table"] = rate, (first, self._to_device(reached), self._to_device(guide))
        made: tuple[int, Any, Any] = known[1]
        return made

    def __repr__(self) -> str:
        return f"<PRNG {_PRNG_NAMES[self._type]}, seed {self._seed}, at {self._at}>"


_PRNG_NAMES = {
    100: "XORWOW",
    101: "XORWOW",
    121: "MRG32K3A",
    142: "MT19937",
    161: "PHILOX4_32_10",
}


@functools.cache
def _xorwow() -> _Rows:
    return _Rows(
        "xorwow",
        _draws.XORWOW_SEQUENCES,
        _rand_state.xorwow_jumps,
        _rand_state.xorwow_start,
        _draws.spread_xorwow,
    )


def _way(rndtype: int) -> _Rows | _Philox | _Twister:
    if rndtype in (100, 101):
        return _xorwow()
    if rndtype == 121:
        return _Rows(
            "mrg", _draws.MRG_SEQUENCES, _rand_state.mrg_jumps, _rand_state.mrg_start, _draws.spread_mrg
        )
    if rndtype == 161:
        return _Philox()
    if rndtype == 142:
        return _Twister()
    if rndtype == 141:
        raise UnsupportedError(
            "MTGP32: its 200 sets of parameters are no formula but found by a search, and how cuRAND seeds them is not published; XORWOW, MRG32K3A, PHILOX4_32_10 and MT19937 are there"
        )
    raise ValueError(f"no generator of pseudorandom numbers is {rndtype!r}")


class QRNG(_Generator):
    """Points of Sobol's sequences, which fill a cube evenly.

    An array gets the first coordinates of all points, then the second ones, and so on. ``SOBOL32`` and ``SOBOL64`` are cuRAND's, bit for bit. The scrambled ones have a
    scramble of this package's, the same for all generators: cuRAND's tables are not published.

    Parameters
    ----------
    rndtype : int
        ``QRNG.SOBOL32``, which ``QRNG.DEFAULT`` stands for, ``QRNG.SCRAMBLED_SOBOL32``, ``QRNG.SOBOL64`` or ``QRNG.SCRAMBLED_SOBOL64``.
    ndim : int, optional
        Dimensions of the cube, 1 to 1,024; with SciPy installed up to 20,000. Else 1.
    offset : int, optional
        Begin behind so many points.
    stream : Stream, optional
        What fills arrays.

    Raises
    ------
    ValueError
        Another ``rndtype``, or no such number of dimensions.

    Examples
    --------
    >>> a = np.empty(8, np.float32)
    >>> cuda.rand.QRNG(ndim=2).uniform(a)
    >>> a.reshape(2, 4).round(3)
    array([[0.  , 0.5 , 0.75, 0.25],
           [0.  , 0.5 , 0.25, 0.75]], dtype=float32)
    """

    TEST, DEFAULT = 0, 200
    SOBOL32, SCRAMBLED_SOBOL32, SOBOL64, SCRAMBLED_SOBOL64 = 201, 202, 203, 204

    def __init__(
        self,
        rndtype: int = DEFAULT,
        ndim: int | None = None,
        offset: int | None = None,
        stream: StreamLike | None = None,
    ) -> None:
        if rndtype not in _QRNG_NAMES:
            raise ValueError(f"no generator of quasirandom points is {rndtype!r}")
        self._type = rndtype
        self._bits = 64 if rndtype in (203, 204) else 32
        self._ndim = 1 if ndim is None else _dimensions(ndim)
        super().__init__(offset, stream)

    @property
    def ndim(self) -> int:
        """Dimensions of the cube; setting them begins anew, at the offset."""
        return self._ndim

    @ndim.setter
    def ndim(self, ndim: int) -> None:
        self._ndim = _dimensions(ndim)
        self._begin()

    def _tables(self) -> tuple[Any, Any]:
        if "tables" not in self._kept:
            if self._type in (202, 204):
                directions, shift = _rand_state.scrambled(self._ndim, self._bits)
            else:
                directions = _rand_state.directions(self._ndim, self._bits)
                shift = np.zeros(self._ndim, directions.dtype)
            self._kept["tables"] = self._to_device(directions), self._to_device(shift)
        tables: tuple[Any, Any] = self._kept["tables"]
        return tables

    def _fill(self, ary: Any, size: Any, kind: str, known: Any, mean: Any = 0, deviation: Any = 0) -> None:
        out = _array(ary, size, known)
        of = out.dtype.type if out.dtype in _FLOATS else np.float64
        if out.size % self._ndim:
            raise ValueError(f"{out.size} items are no whole number of points of {self._ndim} dimensions")
        n = out.size // self._ndim
        if self._at + n > 2 ** min(self._bits, 63):
            raise ValueError(f"a sequence of {self._bits} bits has no point {self._at + n - 1}")
        if not n:
            return
        row = _draws.POINTS * _draws.ROWS
        blocks = -(-(self._at % _draws.POINTS + n) // row)
        kernel = _draws.sobol(kind + _FLOATS.get(out.dtype, ""), self._bits)
        part = out.reshape(self._ndim, n)
        self._launch(
            kernel,
            (blocks, self._ndim),
            _draws.POINTS,
            part,
            *self._tables(),
            self._at,
            of(mean),
            of(deviation),
        )
        self._at += n

    def generate(self, ary: Any, size: int | None = None) -> None:
        """Fill an array with coordinates as words.

        Parameters
        ----------
        ary : ndarray or DeviceNDArray, (ndim * n,), of uint32, or uint64 of a sequence of 64 bits
            Its items lie side by side. One of the host is there when the call returns, also on a stream.
        size : int, optional
            Only its first ``size`` items.

        Raises
        ------
        TypeError
            The array is of another dtype, has more than one axis, or is a slice with a step.
        ValueError
            ``size`` is negative or more than there are; it is no multiple of the dimensions; the sequence has no more points.
        """
        self._fill(ary, size, "bits", (np.dtype(np.uint64 if self._bits == 64 else np.uint32),))

    def __repr__(self) -> str:
        return f"<QRNG {_QRNG_NAMES[self._type]} of {self._ndim} dimensions, at {self._at}>"


_QRNG_NAMES = {
    200: "SOBOL32",
    201: "SOBOL32",
    202: "SCRAMBLED_SOBOL32",
    203: "SOBOL64",
    204: "SCRAMBLED_SOBOL64",
}
_MOST_DIMENSIONS = 20000  # as cuRAND has them; a grid takes 65,535 along y


def _dimensions(given: Any) -> int:
    n = operator.index(given)
    if not 1 <= n <= _MOST_DIMENSIONS:
        raise ValueError(f"a cube has 1 to {_MOST_DIMENSIONS} dimensions, not {n}")
    return n


# --- functions, which share a generator ---

_shared: list[PRNG] = []
_shared_quasi: dict[int, QRNG] = {}  # by the bits of a word
_lock = threading.Lock()


def _drawn(method: str, size: Any, dtype: Any, device: bool, *args: Any) -> Any:
    """A new array that the shared generator has filled."""
    n = operator.index(size)
    if n < 0:
        raise ValueError(f"size is {n}: there is no such number of items")
    made = cuda.device_array(n, dtype) if device else np.empty(n, dtype)
    with _lock:
        if not _shared:
            _shared.append(PRNG(seed=time.time_ns() & _SEEDS - 1))
        getattr(_shared[0], method)(made, *args)
    return made


def uniform(size: int, dtype: Any = np.float64, device: bool = False) -> Any:
    """Numbers of (0, 1], of one generator that these functions share, which is seeded by the time.

    Parameters
    ----------
    size : int
    dtype : dtype
        float32 or float64.
    device : bool
        Whether to return an array of the device.

    Returns
    -------
    ndarray or DeviceNDArray, (size,)

    Raises
    ------
    TypeError
        ``dtype`` is another one.
    """
    return _drawn("uniform", size, dtype, device)


def normal(mean: float, sigma: float, size: int, dtype: Any = np.float64, device: bool = False) -> Any:
    """Normal numbers, as `uniform` gives others."""
    return _drawn("normal", size, dtype, device, mean, sigma)


def lognormal(mean: float, sigma: float, size: int, dtype: Any = np.float64, device: bool = False) -> Any:
    """e to the power of normal numbers, as `uniform` gives others."""
    return _drawn("lognormal", size, dtype, device, mean, sigma)


def poisson(lmbd: float, size: int, device: bool = False) -> Any:
    """Numbers of Poisson's distribution, uint32, as `uniform` gives others."""
    return _drawn("poisson", size, np.uint32, device, lmbd)


def quasi(size: int, bits: int = 32, nd: int = 1, device: bool = False) -> Any:
    """The next points of Sobol's sequence in ``nd`` dimensions, as words of 32 or 64 bits; all first coordinates come first.

    Calls with the same ``bits`` share a generator, which begins anew where ``nd`` is another than before.

    Returns
    -------
    ndarray or DeviceNDArray, (size,), of uint32 or uint64

    Raises
    ------
    ValueError
        ``bits`` is another number; ``size`` is no multiple of ``nd``.
    """
    if bits not in (32, 64):
        raise ValueError(f"words have 32 or 64 bits, not {bits}")
    n = operator.index(size)
    if n < 0:
        raise ValueError(f"size is {n}: there is no such number of items")
    dtype = np.uint64 if bits == 64 else np.uint32
    made: Any = cuda.device_array(n, dtype) if device else np.empty(n, dtype)
    with _lock:
        rng = _shared_quasi.get(bits)
        if rng is None or rng.ndim != nd:
            rng = _shared_quasi[bits] = QRNG(QRNG.SOBOL64 if bits == 64 else QRNG.SOBOL32, nd)
        rng.generate(made)
    return made
