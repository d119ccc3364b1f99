"""The function of the cache row: a cache wants it in a file."""


def sum2d(a):
    rows, cols = a.shape
    s = 0.0
    for i in range(rows):
        for j in range(cols):
            s += a[i, j]
    return s
