"""Functions to compile: what the waiting rows give to the compilers.

`medium` has the shape of the kernel that the design's measurements used: a
matrix product, a pass of nested branches, a five-point stencil and an integer
`while` loop, about 350 LLVM instructions before optimisation.  `large` is that
body again and again, with other constants.
"""

from __future__ import annotations

TRIVIAL = "def f(x):\n    return x + {salt}.0\n"

SUM = """\
def f(a):
    s = {salt}.0
    for i in range(a.shape[0]):
        s += a[i]
    return s
"""

MATMUL = """\
def f(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = {salt}.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
"""

# Ten statements of array code, as a user writes them.
ARRAYS = """\
def f(a, b):
    c = a + b * {salt}.0
    d = np.sin(c) * np.exp(-a)
    e = np.where(c > d, c, d)
    g = e - e.mean()
    h = np.sqrt(np.abs(g)) + 1.0
    k = h / (1.0 + b ** 2)
    m = np.maximum(k, a) - np.minimum(k, b)
    p = m.sum(axis=1)
    q = (p - p.min()) / (p.max() - p.min() + 1.0)
    return np.cumsum(q)
"""

UFUNC = """\
def f(x, y):
    return math.exp(-x * x) * y + {salt}.0
"""

RANDOM = """\
def f(n):
    return np.random.random() * n + {salt}.0
"""

SOLVE = """\
def f(a, b):
    return np.linalg.solve(a, b) + {salt}.0
"""

COMPREHENSION = """\
def f(n):
    return [x * x + {salt} for x in range(n) if x % 3]
"""

DICT = """\
def f(keys):
    d = {{}}
    for k in keys:
        if k in d:
            d[k] += 1
        else:
            d[k] = {salt}
    return d
"""

STRINGS = """\
def f(names, n):
    d = {{}}
    for i in range(n):
        d[names[i % 3] + str(i + {salt})] = i * 0.5
    return d
"""

WORDS = """\
def f(text):
    d = {{}}
    for w in text.lower().split():
        if w in d:
            d[w] += 1
        else:
            d[w] = {salt}
    return d
"""

HEAD = """\
def f(a, b, c):
    count = 0
    total = 0.0
"""

BODY = """\
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.25 * {salt}
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    for p in range(c.shape[0]):
        for q in range(c.shape[1]):
            x = c[p, q]
            if x < 0.1 + {salt}:
                count += 1
                x = x * 2.0
            elif x > 5.0 + {salt}:
                x -= 5.0
                if p > q:
                    count -= 2
            else:
                total += x / (3.7 + {salt})
            c[p, q] = x
    for r in range(1, c.shape[0] - 1):
        for t in range(1, c.shape[1] - 1):
            v = c[r - 1, t] + c[r + 1, t] + c[r, t - 1] + c[r, t + 1] - 4.0 * c[r, t]
            total += v * v
    m = (count & 1023) + 7 + {salt}
    steps = 0
    while m > 1 and steps < 200:
        if m & 1 == 0:
            m = m >> 1
        else:
            m = 3 * m + 1
        steps += 1
    count += steps
"""

TAIL = "    return total + count\n"


def body_source(blocks: int, salt: int) -> str:
    """`blocks` times the medium body; `salt` makes the text unlike any before."""
    return HEAD + "".join(BODY.format(salt=salt + k) for k in range(blocks)) + TAIL


def source(kind: str, salt: int) -> str:
    """The source of one of the functions of the compile rows.

    Parameters
    ----------
    kind : str
        'trivial', 'sum', 'matmul', 'medium', 'arrays', 'ufunc', 'random', 'solve', 'comprehension', 'dict', 'strings' or
        'words'.
    salt : int
        A constant in the code, so that no compiler can have seen it before.
    """
    if kind == "medium":
        return body_source(1, salt)
    texts = {
        "trivial": TRIVIAL,
        "sum": SUM,
        "matmul": MATMUL,
        "arrays": ARRAYS,
        "ufunc": UFUNC,
        "random": RANDOM,
        "solve": SOLVE,
        "comprehension": COMPREHENSION,
        "dict": DICT,
        "strings": STRINGS,
        "words": WORDS,
    }
    return texts[kind].format(salt=salt)
