"""Iterators: functions of itertools.

Where the place of an item follows from how many were taken, an iterator is a `map` or a `filter` over what is counted:
a loop over it has no state but its counter. All others are `drawn`: an inner function, whose variables are the state,
gives a tuple of the next item, and None, again and again, when there is no more.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from treadle._library import Constant, Items, drawn, is_constant, refuse

#: More items than anybody takes.
ENDLESS = 2**63 - 1


def count(start: Any = 0, step: Any = 1) -> Any:
    """Numbers at equal distances, without an end."""
    if isinstance(start, Integral) and isinstance(step, Integral):
        return map(lambda i: start + i * step, range(ENDLESS))
    at = start + step * 0

    def next_number() -> Any:
        nonlocal at
        here = at
        at = at + step
        return (here,)

    return drawn(next_number)


def repeat(object: Any, times: Any = None) -> Any:
    """One object, as often as said, or without an end."""
    return map(lambda i: object, range(ENDLESS if times is None else times))


def cycle(iterable: Any, /) -> Any:
    """What an iterable gives, again and again."""
    walk = iter(iterable)
    seen: Any = []
    ended = False
    at = 0

    def next_of_round() -> Any:
        nonlocal ended, at
        if not ended:
            for x in walk:
                seen.append(x)
                return (x,)
            ended = True
        if len(seen) == 0:
            return None
        x = seen[at]
        at = at + 1 if at + 1 < len(seen) else 0
        return (x,)

    return drawn(next_of_round)


def chain(*iterables: Items) -> Any:
    """What iterables give, one iterable after the other."""
    if isinstance(iterables, list):
        return from_iterable(iterables)
    if len(iterables) == 0:
        return iter(())
    if len(iterables) == 1:
        return iter(iterables[0])
    walk = iter(iterables[0])
    rest = chain(*iterables[1:])
    ended = False

    def next_of_all() -> Any:
        nonlocal ended
        if not ended:
            for x in walk:
                return (x,)
            ended = True
        for x in rest:
            return (x,)
        return None

    return drawn(next_of_all)


def from_iterable(iterable: Any, /) -> Any:
    """What the iterables in an iterable give; `itertools.chain.from_iterable`."""
    outer = iter(iterable)
    inner: Any = []

    def next_of_all() -> Any:
        while True:
            if len(inner) == 0:
                for row in outer:
                    inner.append(iter(row))
                    break
                else:
                    return None
            for x in inner[0]:
                return (x,)
            inner.clear()

    return drawn(next_of_all)


def compress(data: Any, selectors: Any) -> Any:
    """Those items whose selectors are true."""
    return map(lambda pair: pair[0], filter(lambda pair: pair[1], zip(data, selectors)))


def filterfalse(function: Any, iterable: Any, /) -> Any:
    """Those items for which a function gives what is false."""
    if function is None:
        return filter(lambda x: not x, iterable)
    return filter(lambda x: not function(x), iterable)


def starmap(function: Any, iterable: Any, /) -> Any:
    """What a function gives for tuples of arguments."""
    return map(lambda args: function(*args), iterable)


def takewhile(predicate: Any, iterable: Any, /) -> Any:
    """The items before the first of which something does not hold."""
    walk = iter(iterable)
    ended = False

    def next_before() -> Any:
        nonlocal ended
        if not ended:
            for x in walk:
                if predicate(x):
                    return (x,)
                break
            ended = True
        return None

    return drawn(next_before)


def dropwhile(predicate: Any, iterable: Any, /) -> Any:
    """The items from the first on of which something does not hold."""
    walk = iter(iterable)
    begun = False

    def next_behind() -> Any:
        nonlocal begun
        for x in walk:
            if begun or not predicate(x):
                begun = True
                return (x,)
        return None

    return drawn(next_behind)


def islice(iterable: Any, *args: Any) -> Any:
    """Some items of an iterable, by their numbers."""
    if len(args) == 0 or len(args) > 3:
        refuse("islice() takes an iterable, and stop, or start, stop and step")
    if len(args) == 1:
        return first_of(iterable, args[0])
    return sliced(
        iterable,
        0 if args[0] is None else args[0],
        ENDLESS if args[1] is None else args[1],
        1 if len(args) < 3 or args[2] is None else args[2],
    )


def first_of(iterable: Any, stop: Any) -> Any:
    """As many items as there may be."""
    if stop is None:
        return iter(iterable)
    refuse_minus_one(stop)
    if stop < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    return map(lambda pair: pair[1], zip(range(stop), iterable))


def refuse_minus_one(stop: int) -> None:
    """CPython has a text of its own for it, whatever the other numbers are."""
    if stop == -1:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")


def sliced(iterable: Any, start: int, stop: int, step: int) -> Any:
    """Every step-th item; what stands between is taken, too, as CPython does."""
    refuse_minus_one(stop)
    if start < 0 or stop < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    walk = iter(iterable)
    taken = 0
    until = start

    def next_of_slice() -> Any:
        nonlocal taken, until
        if taken >= stop and taken >= until:
            return None
        for x in walk:
            taken += 1
            if taken > until:
                if taken > stop:
                    return None
                until = until + step if until < stop - step else stop
                return (x,)
            if taken >= until and taken >= stop:
                return None
        taken = ENDLESS
        return None

    return drawn(next_of_slice)


def pairwise(iterable: Any, /) -> Any:
    """Each item with the one behind it."""
    walk = iter(iterable)
    before: Any = []

    def next_pair() -> Any:
        if len(before) == 0:
            for x in walk:
                before.append(x)
                break
        for x in walk:
            pair = (before[0], x)
            before[0] = x
            return (pair,)
        return None

    return drawn(next_pair)


def batched(iterable: Any, n: Constant, *, strict: Constant = False) -> Any:
    """Tuples of n items each."""
    if not is_constant(n) or not is_constant(strict) or not strict:
        refuse(
            "batched() needs strict=True and an n that is known when the function compiles: the last tuple may be "
            "shorter else, and a tuple's length is part of its type"
        )
    if n < 1:
        raise ValueError("n must be at least one")
    walk = iter(iterable)
    items: Any = []

    def next_batch() -> Any:
        items.clear()
        for x in walk:
            items.append(x)
            if len(items) == n:
                return (first_items(items, n),)
        if len(items) > 0:
            raise ValueError("batched(): incomplete batch")
        return None

    return drawn(next_batch)


def to_fixed_tuple(array: Any, length: Constant) -> Any:
    """A tuple of the first items; numba.np.unsafe.ndarray.to_fixed_tuple."""
    if is_constant(length):
        if len(array) < length:
            raise IndexError("to_fixed_tuple(): there are not so many items")
        return first_items(array, length)
    refuse("the length must be known when the function compiles: it is part of a tuple's type")


def tuple_setitem(tup: Any, idx: Any, val: Any) -> Any:
    """A tuple with another item at one place; numba.cpython.unsafe.tuple.tuple_setitem."""
    if not -len(tup) <= idx < len(tup):
        raise IndexError("tuple index out of range")
    return with_item(tup, idx + len(tup) if idx < 0 else idx, val, 0)


def with_item(x: Any, at: Any, val: Any, n: Constant) -> Any:
    """The items of a tuple from the n-th on, but for one."""
    if n == len(x):
        return ()
    return (val if n == at else x[n], *with_item(x, at, val, n + 1))


def first_items(x: Any, n: Constant) -> Any:
    """A tuple of the first n items of a list."""
    return () if n <= 0 else (*first_items(x, n - 1), x[n - 1])


def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    """What a function, or addition, makes of the items so far."""
    walk = iter(iterable)
    total: Any = []
    if initial is not None:
        total.append(initial)
    begun = initial is None

    def next_total() -> Any:
        nonlocal begun
        if not begun:
            begun = True
            return (total[0],)
        for x in walk:
            if len(total) == 0:
                total.append(x)
            elif func is None:
                total[0] = total[0] + x
            else:
                total[0] = func(total[0], x)
            return (total[0],)
        return None

    return drawn(next_total)


def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    """Tuples of an item of each, as long as one of them has any."""
    walks = walks_of(iterables)

    def next_row() -> Any:
        found = next_of_each(walks)
        return (filled(found, fillvalue),) if any_of(found) else None

    return drawn(next_row)


def walks_of(iterables: Any) -> Any:
    """An iterator over each."""
    return () if len(iterables) == 0 else (iter(iterables[0]), *walks_of(iterables[1:]))


def one_of(walk: Any) -> Any:
    """The next item in a tuple, or None."""
    for x in walk:
        return (x,)
    return None


def next_of_each(walks: Any) -> Any:
    """The next item of each, in tuples of one, or None."""
    return () if len(walks) == 0 else (one_of(walks[0]), *next_of_each(walks[1:]))


def any_of(found: Any) -> bool:
    """Whether one is not None."""
    return False if len(found) == 0 else found[0] is not None or any_of(found[1:])


def filled(found: Any, value: Any) -> Any:
    """The items, and a value where there is none."""
    if len(found) == 0:
        return ()
    x = found[0]
    return (value if x is None else x[0], *filled(found[1:], value))


def groupby(iterable: Any, key: Any = None) -> Any:
    """Runs of items of equal keys: the key, and an iterator of the items, which the next run ends."""
    walk = iter(iterable)
    ahead: Any = []  # the item that comes next, with its key
    keys: Any = []  # that of the run
    ended = False
    run = 0

    def advance() -> None:
        nonlocal ended
        ahead.clear()
        for x in walk:
            ahead.append((x if key is None else key(x), x))
            return
        ended = True

    def next_run() -> Any:
        nonlocal run
        run += 1
        this = run
        if not ended and len(ahead) == 0:
            advance()
        if ended:
            return None
        if len(keys) == 0:
            keys.append(ahead[0][0])
        else:
            while not ended and ahead[0][0] == keys[0]:
                advance()
            if ended:
                return None
            keys[0] = ahead[0][0]

        def next_item() -> Any:
            if this != run:
                return None
            if not ended and len(ahead) == 0:
                advance()
            if ended or ahead[0][0] != keys[0]:
                return None
            return (ahead.pop()[1],)

        return ((keys[0], drawn(next_item)),)

    return drawn(next_run)


def tee(iterable: Any, n: Constant = 2, /) -> Any:
    """Iterators that each give all items."""
    if not is_constant(n):
        refuse("tee() needs a number of iterators that is known when the function compiles")
    walk = iter(iterable)
    seen: Any = []
    return readers(walk, seen, n)


def readers(walk: Any, seen: Any, n: Constant) -> Any:
    """As many iterators over what is taken from one, and kept."""
    return () if n <= 0 else (reader(walk, seen), *readers(walk, seen, n - 1))


def reader(walk: Any, seen: Any) -> Any:
    """An iterator over what is taken from another, and kept."""
    at = 0

    def next_item() -> Any:
        nonlocal at
        if at == len(seen):
            for x in walk:
                seen.append(x)
                break
            else:
                return None
        at += 1
        return (seen[at - 1],)

    return drawn(next_item)


def pool(x: Any) -> Any:
    """The items, which stay what they are."""
    return x if isinstance(x, (range, str)) else [y for y in x]  # noqa: C416 - a list of what there is


def pools(iterables: Any) -> Any:
    """The items of each."""
    return () if len(iterables) == 0 else (pool(iterables[0]), *pools(iterables[1:]))


def times(x: Any, n: Constant) -> Any:
    """A tuple n times."""
    return () if n <= 0 else (*x, *times(x, n - 1))


def sizes(x: Any) -> Any:
    """How many items each has."""
    return () if len(x) == 0 else (len(x[0]), *sizes(x[1:]))


def items_at(x: Any, at: Any) -> Any:
    """The item of each at its place."""
    return () if len(x) == 0 else (x[0][at[0]], *items_at(x[1:], at[1:]))


def product(*iterables: Any, repeat: Constant = 1) -> Any:
    """Tuples of an item of each, all combinations, the last one fastest."""
    if not is_constant(repeat):
        refuse("product() needs a `repeat` that is known when the function compiles")
    if repeat < 0:
        raise ValueError("repeat argument cannot be negative")
    of = times(pools(iterables), repeat)
    return map(lambda at: items_at(of, at), np.ndindex(sizes(of)))


def chosen(of: Any, at: Any, k: int, r: Constant) -> Any:
    """The items at places k to r of a list of places."""
    return () if r <= 0 else (of[at[k]], *chosen(of, at, k + 1, r - 1))


def combinations(iterable: Any, r: Constant) -> Any:
    """Tuples of r items, in the order in which they stand."""
    if not is_constant(r):
        refuse("combinations() needs an r that is known when the function compiles: it is the tuples' length")
    if r < 0:
        raise ValueError("r must be non-negative")
    return subsets(pool(iterable), r, 1)


def combinations_with_replacement(iterable: Any, r: Constant) -> Any:
    """Tuples of r items, in the order in which they stand, each as often as one likes."""
    if not is_constant(r):
        refuse("combinations_with_replacement() needs an r that is known when the function compiles")
    if r < 0:
        raise ValueError("r must be non-negative")
    return subsets(pool(iterable), r, 0)


def subsets(of: Any, r: Constant, apart: Constant) -> Any:
    """Tuples of r items whose places rise by at least 0 or 1."""
    n = len(of)
    at = [k * apart for k in range(r)]
    begun = False
    ended = r > n if apart else r > 0 and n == 0

    def next_subset() -> Any:
        nonlocal begun, ended
        if ended:
            return None
        if begun:
            i = r - 1
            while i >= 0 and at[i] == n - 1 - (r - 1 - i) * apart:
                i -= 1
            if i < 0:
                ended = True
                return None
            first = at[i] + 1
            for k in range(i, r):
                at[k] = first + (k - i) * apart
        begun = True
        return (chosen(of, at, 0, r),)

    return drawn(next_subset)


def permutations(iterable: Any, r: Constant = None) -> Any:
    """Tuples of r items in any order."""
    if r is None:
        if not is_constant(len(iterable)):
            refuse(
                "permutations() needs an r that is known when the function compiles: it is the tuples' length"
            )
        return orders(pool(iterable), len(iterable))
    if not is_constant(r):
        refuse("permutations() needs an r that is known when the function compiles: it is the tuples' length")
    if r < 0:
        raise ValueError("r must be non-negative")
    return orders(pool(iterable), r)


def orders(of: Any, r: Constant) -> Any:
    """Tuples of r items in any order, as CPython enumerates them: by cycles of places."""
    n = len(of)
    at = list(range(n))
    left = [n - k for k in range(r)]
    begun = False
    ended = r > n

    def next_order() -> Any:
        nonlocal begun, ended
        if ended:
            return None
        if not begun:
            begun = True
            return (chosen(of, at, 0, r),)
        for i in range(r - 1, -1, -1):
            left[i] -= 1
            if left[i] > 0:
                j = n - left[i]
                at[i], at[j] = at[j], at[i]
                return (chosen(of, at, 0, r),)
            first = at[i]
            for k in range(i, n - 1):
                at[k] = at[k + 1]
            at[n - 1] = first
            left[i] = n - i
        ended = True
        return None

    return drawn(next_order)
