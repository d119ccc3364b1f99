"""Functions whose SSA is kept in golden/front-*.txt. test_front.py compiles this text under a fixed file name."""

import math

import numpy as np

WIDTH = 8
TABLE = (1, 2.5, "s")
WEIGHTS = np.array([1.0, 2.0])


def straight(a, b):
    c = a * 2 + b
    return c - -a


def sum_loop(a, k):
    s = 0.0
    for i in range(k):
        s += a[i] * 2
    return s


def nested(a, n, m):
    for i in range(n):
        for j in range(m):
            if a[i, j] < 0:
                continue
            a[i, j] += i
    return None


def search(a, x):
    for i, v in enumerate(a):
        if v == x:
            break
    else:
        return -1
    return i


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def while_else(n):
    while n > 0:
        n -= 1
        if n == 3:
            break
    else:
        n = 10
    return n


def logic(a, b, c):
    return a and b or not c


def chained(x, lo, hi):
    return lo <= x < hi != 3


def swap(a, b, c):
    a, b = b, a
    x, y, z = c
    return (a, b, x + y + z)


def slices(a, i):
    a[1:i] = a[i:-1]
    a[::2, ..., None] *= 3
    return a[:, 1:i:2]


def maybe(n):
    if n > 0:
        x = n
    return x


def unassigned():
    return x
    x = 1


def deleted(x):
    y = x
    del x
    if y:
        x = 1
    return x


def closure(a):
    k = a + 1

    def inner(x, scale=2):
        return x * scale + k

    return inner(a) + (lambda y: y - k)(3)


def names(x):
    return math.sqrt(x) + np.sin(WEIGHTS[1]) + np.pi + WIDTH + TABLE[0]


def undefined_name(x):
    return not_defined_anywhere + x


def calls(f, a, *rest, key=1):
    f(a, key=key)
    a.fill(0)
    f(*rest)
    return f(a, *rest)


def checks(n):
    assert n > 0, "n must be positive"
    if n > 10:
        raise ValueError("too large", n)
    if n is None or n is not True:
        raise IndexError
    return n in (1, 2)


def text(n):
    print(f"n = {n}!")
    return f"{n}"


def displays(x):
    a = [1, 2, 3]
    b = [x, x + 1]
    c = [4, 5, x]
    return a, b, c


def straight_exit(n):
    for i in range(n):
        return i
    return 0


def triple(n):
    total = 0
    for i in range(n):
        for j in range(i):
            for k in range(j):
                if k == 2:
                    break
                total += k
            else:
                total -= 1
    return total


def expressions(a, n, fold):
    total = fold(x * n for x in a if x > 0)
    for y in (x + n for x in a):
        total += y
    n = 2
    return total + fold(x * k for x in a if x for k in range(n))


def comprehended(a, n, make):
    b = make([x * n for x in a])
    return make([[x + y for y in b if y != n] for x in a]), make([(x, y) for x in a for y in b])
