"""Launches on a GPU whose arguments are not all there: arrays of the host are copied to it, and back when the kernel has run.

Arrays of the host that share memory share it on the device, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import typeof
from ._array import _Access, allocate, goes_on, move, on_device, over
from ._devices import is_emulated
from ._extent import Array, extent
from ._memory import room_like
from ._stream import synchronize
from .args import In, Out, _Way, argument

__all__ = ["stage"]

Span = tuple[int, int]
_SHARED = "an array whose items are not aligned shares memory with another argument"


class _Copies:
    """The arrays of the host that a launch is given, and what stands for them on the device."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.arrays: list[tuple[Array, bool, bool]] = []  # with whether it is copied to the device, and back
        self.places: dict[int, Array] = {}  # of records: arrays over their memory

    def note(self, value: Any, to: bool = True, back: bool = True) -> None:
        """Looks at an argument, in front of any copy."""
        if isinstance(value, _Way):
            inside = value.value
            self.note(inside, to and not isinstance(value, Out), back and not isinstance(value, In))
        elif isinstance(value, tuple):
            for item in value:
                self.note(item, to, back)
        elif isinstance(value, np.ndarray) and not on_device(value) and argument(value) is value:
            typeof(value)  # what cannot be passed is refused as it is, and not as its copy
            self.arrays.append((value, to, back and value.flags.writeable))
        elif isinstance(value, np.void):
            typeof(value)
            place = self.places.get(id(value))
            if place is None:
                at = value.__array_interface__["data"][0]  # which it calls read-only from NumPy 2.5 on
                readonly = not value.flags.writeable
                place = self.places[id(value)] = over(at, (), value.dtype, None, value, readonly)
            self.arrays.append((place, to, back and place.flags.writeable))

    def make(self) -> None:
        """Copies to the device. Arrays that share memory lie in one block; each of the others lies without gaps."""
        self.there: dict[int, Array] = {}
        for group, (lo, hi) in _groups([extent(a) for a, _, _ in self.arrays]):
            first = self.arrays[group[0]][0]
            same = all(_is_same(self.arrays[k][0], first) for k in group)
            if same:
                mem = room_like(first, stream=self.stream)
                if any(self.arrays[k][1] for k in group):
                    move(mem, first, self.stream)
                if not first.flags.writeable:
                    mem = mem.view()
                    mem.flags.writeable = False
                self.there.update((id(self.arrays[k][0]), mem) for k in group)
                continue
            block = allocate((hi - lo,), np.uint8, stream=self.stream)
            move(block, over(lo, (hi - lo,), np.uint8, None, first), self.stream)
            at = extent(block)[0]
            for k in group:
                a = self.arrays[k][0]
                start = at + a.__array_interface__["data"][0] - lo
                made = over(start, a.shape, a.dtype, a.strides, block, not a.flags.writeable)
                if not made.flags.aligned:
                    raise ValueError(_SHARED)
                self.there[id(a)] = made

    def of(self, value: Any) -> Any:
        """What the launch is given for an argument."""
        if isinstance(value, _Way):
            return self.of(value.value)
        if isinstance(value, tuple):
            items = [self.of(v) for v in value]
            return value._make(items) if hasattr(value, "_make") else tuple(items)
        return self.there.get(id(self.places.get(id(value), value)), value)

    def give_back(self) -> None:
        """Copies back to the host what was not only read, also where the kernel raised."""
        done: set[int] = set()
        raised: Exception | None = None
        for a, _, back in self.arrays:
            if back and id(a) not in done:
                done.add(id(a))
                try:
                    move(a, self.there[id(a)], self.stream)
                except Exception as error:
                    raised = raised or error
        if raised is not None:
            raise raised


def _is_same(a: Array, b: Array) -> bool:
    return a is b or (
        a.__array_interface__["data"] == b.__array_interface__["data"]
        and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    )


def _groups(spans: list[Span]) -> list[tuple[list[int], Span]]:
    """Numbers of spans that meet, directly or by others between, with all that each group spans."""
    found: list[tuple[list[int], Span]] = []
    for k in sorted(range(len(spans)), key=lambda k: spans[k]):
        lo, hi = spans[k]
        if found and lo < found[-1][1][1]:
            group, (first, last) = found[-1]
            group.append(k)
            found[-1] = group, (first, max(last, hi))
        else:
            found.append(([k], (lo, hi)))
    return found


def _is_written(value: Any) -> bool:
    """Whether the host's memory is among it, and may not be written to behind the call."""
    if isinstance(value, tuple):
        return any(map(_is_written, value))
    if isinstance(value, (_Way, _Access)):
        return not isinstance(value, (In, _Access)) and _is_written(value.value)
    return isinstance(value, np.void) or (isinstance(value, np.ndarray) and not goes_on(value))


def _lies_well(a: Array) -> bool:
    """Whether items are aligned, and whole numbers of them apart: complex ones may be one without the other."""
    return a.flags.aligned and not any(n > 1 and s % a.itemsize for n, s in zip(a.shape, a.strides))


class _Aligned:
    """Arrays of the host whose items are not aligned, as arguments of the emulated device, and copies that stand for them."""

    def __init__(self) -> None:
        self.given: list[Array] = []  # arrays among the arguments
        self.made: list[tuple[Array, Array]] = []

    def note(self, value: Any) -> None:
        """Looks at an argument, in front of any copy."""
        if isinstance(value, tuple):
            for item in value:
                self.note(item)
        elif isinstance(value, np.ndarray):
            self.given.append(value)

    def of(self, value: Any) -> Any:
        """What the launch is given for an argument.

        Raises
        ------
        ValueError
            Another argument shares memory with what would be a copy.
        """
        if isinstance(value, tuple):
            items = [self.of(v) for v in value]
            if all(a is b for a, b in zip(items, value)):
                return value
            return value._make(items) if hasattr(value, "_make") else tuple(items)
        if not isinstance(value, np.ndarray) or _lies_well(value):
            return value
        for a, copy in self.made:
            if _is_same(a, value):
                return copy
        if any(not _is_same(a, value) and np.may_share_memory(a, value) for a in self.given):
            raise ValueError(_SHARED)
        copy = np.array(value, order="K", subok=True)
        copy.flags.writeable = value.flags.writeable
        self.made.append((value, copy))
        return copy

    def give_back(self) -> None:
        """Copies back what was not only read."""
        for a, copy in self.made:
            if a.flags.writeable:
                a[...] = copy


def _stage_emulated(launcher: Any, args: tuple[Any, ...]) -> None:
    arrays = _Aligned()
    for value in args:
        arrays.note(value)
    staged = [*map(arrays.of, args)]
    try:
        launcher._staged(*staged)
        if launcher.stream and (arrays.made or any(map(_is_written, args))):
            launcher.stream.synchronize()
    finally:
        arrays.give_back()


def stage(launcher: Any, args: tuple[Any, ...]) -> None:
    """The launch, with copies on its stream. What the host gave is as the kernel left it when this returns. The emulated device copies only what is not aligned, and is waited for."""
    if is_emulated():
        _stage_emulated(launcher, args)
        return
    copies = _Copies(launcher.stream or 0)
    try:
        for value in args:
            copies.note(value)
    except TypeError:
        launcher.kernel._check_arguments(args)  # which says so in the kernel's words
        raise
    copies.make()
    launcher._staged(*map(copies.of, args))
    if copies.arrays:
        copies.give_back()
        if launcher.stream:
            launcher.stream.synchronize()
        else:
            synchronize()
