"""Programs: bits, primes and other numbers, dates."""

from __future__ import annotations

import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from programs import bytes_of, same  # noqa: E402
from treadle import njit  # noqa: E402

# --- bits ---


def popcount(x):
    count = 0
    while x:
        x &= x - 1
        count += 1
    return count


def popcounts(a):
    out = np.zeros(a.size, np.uint8)
    for i in range(a.size):
        x = a[i]
        n = 0
        while x != 0:
            n += int(x & 1)
            x >>= 1
        out[i] = n
    return out


def reverse_bits(a):
    out = np.empty_like(a)
    for i in range(a.size):
        v = a[i]
        v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1)
        v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2)
        v = ((v >> 4) & 0x0F0F0F0F) | ((v & 0x0F0F0F0F) << 4)
        v = ((v >> 8) & 0x00FF00FF) | ((v & 0x00FF00FF) << 8)
        out[i] = (v >> 16) | (v << 16)
    return out


def gray(n):
    codes = np.empty(1 << n, np.uint32)
    for i in range(1 << n):
        codes[i] = i ^ (i >> 1)
    return codes


def morton(x, y):
    z = 0
    for i in range(16):
        z |= (x & (1 << i)) << i | (y & (1 << i)) << (i + 1)
    return z


def crc32(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xEDB88320 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def fnv1a(data):
    h = np.uint64(0xCBF29CE484222325)
    for b in data:
        h = (h ^ b) * np.uint64(0x100000001B3)
    return h


def xorshift(seed, n):
    out = np.empty(n, np.uint64)
    x = np.uint64(seed)
    for i in range(n):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        out[i] = x
    return out


def xorshift_weak(seed, n):
    out = np.empty(n, np.uint64)
    x = np.uint64(seed)
    for i in range(n):
        x ^= x << 13
        x ^= x >> 7
        x ^= x << 17
        out[i] = x
    return out


def adler(data):
    a, b = 1, 0
    for c in data:
        a = (a + c) % 65521
        b = (b + a) % 65521
    return (b << 16) | a


def unpack(flags):
    out = np.zeros((flags.size, 8), dtype=np.bool_)
    for i, f in enumerate(flags):
        for k in range(8):
            out[i, k] = (f >> k) & 1
    return out


def subsets(a, target):
    count = 0
    for mask in range(1 << len(a)):
        s = 0
        for i in range(len(a)):
            if mask >> i & 1:
                s += a[i]
        count += s == target
    return count


def test_bit_tricks():
    for x in (0, 1, 255, 2**62 + 5):
        same(popcount, x)
    same(popcounts, np.array([0, 1, 2**63, 2**64 - 1], np.uint64))
    same(popcounts, np.array([0, 1, 255, 170], np.uint8))
    same(reverse_bits, np.array([0, 1, 0x80000000, 0xDEADBEEF], np.uint32))
    same(gray, 5)
    same(morton, 1234, 4321)
    same(crc32, bytes_of("123456789").astype(np.int64))
    same(fnv1a, bytes_of("hello").astype(np.uint64))
    same(xorshift, np.uint64(88172645463325252), 20)
    same(xorshift_weak, np.uint64(88172645463325252), 20)
    same(adler, bytes_of("Wikipedia").astype(np.int64))
    same(unpack, np.array([0, 1, 129, 255], np.uint8))
    same(subsets, np.array([1, 2, 3, 4, 5, 6]), 9)


# --- primes and numbers ---


def sieve(n):
    flags = np.ones(n + 1, dtype=np.bool_)
    flags[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = False
    count = 0
    for f in flags:
        if f:
            count += 1
    primes = np.empty(count, dtype=np.int64)
    k = 0
    for i in range(n + 1):
        if flags[i]:
            primes[k] = i
            k += 1
    return primes, flags.sum()


def is_prime(n):
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    else:
        return True


def powmod(b, e, m):
    r = 1
    b %= m
    while e > 0:
        if e & 1:
            r = r * b % m
        b = b * b % m
        e >>= 1
    return r


def extended_gcd(a, b):
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b:
        q, (a, b) = a // b, (b, a % b)
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


def collatz(limit):
    best, length = 0, 0
    for n in range(1, limit):
        k, x = 1, n
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            k += 1
        if k > length:
            best, length = n, k
    return best, length


def digits(n, base=10):
    out = np.zeros(64, dtype=np.uint8)
    i = 0
    while n:
        n, out[i] = divmod(n, base)
        i += 1
    return out[:i][::-1]


def totient(n):
    result = n
    for p in range(2, n):
        if p * p > n:
            break
        if n % p == 0:
            while n % p == 0:
                n //= p
            result -= result // p
    if n > 1:
        result -= result // n
    return result


def test_numbers():
    same(sieve, 100)
    same(sieve, 2)
    for n in (0, 2, 9, 97):
        same(is_prime, n)
    same(powmod, 7, 560, 561)
    same(extended_gcd, 240, 46)
    same(collatz, 300)
    same(digits, 9876543210)
    same(digits, 255, 16)
    same(digits, 0)
    for n in (1, 12, 97, 360):
        same(totient, n)


# --- dates ---


def days_from_civil(y, m, d):
    y -= m <= 2
    era = y // 400
    yoe = y - era * 400
    doy = (153 * (m + (-3 if m > 2 else 9)) + 2) // 5 + d - 1
    doe = yoe * 365 + yoe // 4 - yoe // 100 + doy
    return era * 146097 + doe - 719468


def civil_from_days(z):
    z += 719468
    era = z // 146097
    doe = z % 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    y = yoe + era * 400
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    d = doy - (153 * mp + 2) // 5 + 1
    m = mp + (3 if mp < 10 else -9)
    return (y + (m <= 2), m, d)


def easter(year):
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    f = (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    el = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * el) // 451
    month, day = divmod(h + el - 7 * m + 114, 31)
    return month, day + 1


MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
Date = namedtuple("Date", ["year", "month", "day"])


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def add_days(date, n):
    y, m, d = date
    d += n
    while True:
        length = MONTHS[m - 1] + (m == 2 and is_leap(y))
        if d <= length:
            break
        d -= length
        m += 1
        if m > 12:
            y, m = y + 1, 1
    return Date(y, m, d)


def weekday(date):
    return (days_from_civil(date.year, date.month, date.day) + 3) % 7


def test_dates():
    for y, m, d in [(1970, 1, 1), (2024, 2, 29), (1582, 10, 15), (-5, 3, 1)]:
        n = same(days_from_civil, y, m, d)
        assert njit(civil_from_days)(n) == (y, m, d)
        same(civil_from_days, n)
    for year in (1961, 2000, 2024):
        same(easter, year)
    same(add_days, Date(2023, 12, 30), 90)
    same(weekday, Date(2024, 5, 17))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("model", ["python", "numpy"])
def test_negative_literals_beside_unsigned_elements(dtype, model):
    """They do not wrap: the result is Python's, an int64. Bits stay unsigned."""
    minus = -3

    @njit(error_model=model)
    def f(a):
        x = a[0]
        return x * -1, x // -2, -20 // x, x % -3, x - -1, -1 - x, x + minus, x + 3, x & -2, x | -1

    for n in (5, 255):
        want = f.py_func([n])
        got = f(np.array([n], dtype))
        assert got[:8] == want[:8]
        assert got[8:] == (n & -2, 2**64 - 1)
