"""Programs of strings, bytes and lists: sequences, files line by line, texts, machines.

Each runs compiled and as the Python it is, with data that it was made for, with none, and with data that it has a mistake in.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import heapq
import itertools
import math
import sys
from collections import Counter, defaultdict, deque, namedtuple
from pathlib import Path

import numpy as np
import pytest
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from programs import agree, outcome  # noqa: E402

# --- Sequences ---


def kmers(seq, k):
    counts = {}
    for i in range(len(seq) - k + 1):
        w = seq[i : i + k]
        if "N" in w:
            continue
        rc = w[::-1].translate(str.maketrans("ACGT", "TGCA"))
        key = min(w, rc)
        counts[key] = counts.get(key, 0) + 1
    return sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:5]


def parse_fasta(text):
    records = {}
    name = None
    for line in text.splitlines():
        line = line.strip()
        if not line:
            continue
        if line.startswith(">"):
            name = line[1:].split()[0]
            records[name] = []
        else:
            records[name].append(line)
    return {k: "".join(v) for k, v in records.items()}


def cigar(s):
    n = 0
    ops = []
    for c in s:
        if "0" <= c <= "9":
            n = n * 10 + ord(c) - ord("0")
        elif c in "MIDNSHP=X":
            ops.append((c, n))
            n = 0
        else:
            raise ValueError("bad operation '%s' in %r" % (c, s))
    ref = sum(k for c, k in ops if c in "MDN=X")
    q = sum(k for c, k in ops if c in "MIS=X")
    return ops, ref, q


def vcf(lines):
    out = Counter()
    for l in lines:
        if l.startswith("#"):
            continue
        chrom, pos, _, ref, alts, *_ = l.split()
        for alt in alts.split(","):
            kind = "snp" if len(ref) == len(alt) == 1 else "ins" if len(alt) > len(ref) else "del"
            out[chrom, kind] += 1
    return dict(out), out.total()


GFF = "#x\nc1\tt\tgene\t1\t9\t.\t+\t.\tID=a;Name=b\nc1\tt\texon\t2\t5\t.\t+\t.\tParent=a\nc2\tt\tgene\t3\t8\t.\t-\t.\tID=q;"


def gff(text):
    genes = {}
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        seq, src, typ, s, e, score, strand, phase, attrs = line.split("\t")
        d = dict(kv.split("=") for kv in attrs.split(";") if kv)
        if typ == "gene":
            genes[d["ID"]] = (seq, int(s), int(e), strand == "+")
        elif typ == "exon":
            genes[d["Parent"]] = genes[d["Parent"]][:1] + (int(s), int(e), False)
    return genes


def smith(a, b, match=2, mis=-1, gap=-2):
    h = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    best = (0, 0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = match if a[i - 1] == b[j - 1] else mis
            h[i, j] = max(0, h[i - 1, j - 1] + s, h[i - 1, j] + gap, h[i, j - 1] + gap)
            if h[i, j] > best[0]:
                best = (h[i, j], i, j)
    _, i, j = best
    x = y = ""
    while h[i, j] > 0:
        if h[i, j] == h[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mis):
            i -= 1
            j -= 1
            x = a[i] + x
            y = b[j] + y
        elif h[i, j] == h[i - 1, j] + gap:
            i -= 1
            x = a[i] + x
            y = "-" + y
        else:
            j -= 1
            x = "-" + x
            y = b[j] + y
    return x, y


def suffix_array(s):
    sa = sorted(range(len(s)), key=lambda i: s[i:])
    rank = [0] * len(s)
    for r, i in enumerate(sa):
        rank[i] = r
    lcp = [0] * len(s)
    h = 0
    for i in range(len(s)):
        if rank[i] > 0:
            j = sa[rank[i] - 1]
            while i + h < len(s) and j + h < len(s) and s[i + h] == s[j + h]:
                h += 1
            lcp[rank[i]] = h
            if h > 0:
                h -= 1
    return sa, lcp


def edit(a, b):
    prev = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        cur = [i]
        for j, cb in enumerate(b, 1):
            cur.append(min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (ca != cb)))
        prev = cur
    return prev[-1]


# --- Files, line by line ---


def parse_csv(text):
    rows = []
    header = None
    for line in text.strip().split("\n"):
        cells = [c.strip() for c in line.split(",")]
        if header is None:
            header = cells
            continue
        rows.append([float(c) if c else math.nan for c in cells])
    a = np.array(rows)
    return header, a, {h: np.nanmean(a[:, i]) for i, h in enumerate(header)}


PDB = """ATOM      1  N   MET A   1      27.340  24.430   2.614  1.00  9.67           N
ATOM      2  CA  MET A   1      26.266  25.413   2.842  1.00 10.38           C
HETATM    3  C   HOH B   1      26.913  26.639   3.531  1.00  9.62           C
ATOM      4  O   MET A   2      27.886  26.463   4.263  1.00  9.62           O
"""


def parse_pdb(text):
    xyz = []
    names = []
    res = defaultdict(list)
    for line in text.splitlines():
        rec = line[:6].strip()
        if rec not in ("ATOM", "HETATM"):
            continue
        names.append(line[12:16].strip())
        xyz.append((float(line[30:38]), float(line[38:46]), float(line[46:54])))
        res[(line[21], int(line[22:26]))].append(names[-1])
    c = np.array(xyz)
    return names, c.mean(axis=0), np.sqrt(((c[:, None, :] - c[None, :, :]) ** 2).sum(-1)), dict(res)


MM = """%%MatrixMarket matrix coordinate real symmetric
% a comment
3 3 4
1 1 2.0
2 1 -1.5
3 3 1e-3
3 2 4
"""


def matrix_market(text):
    lines = iter(text.splitlines())
    head = next(lines).lower().split()
    if head[0] != "%%matrixmarket" or len(head) != 5:
        raise ValueError("not a Matrix Market file")
    *_, field, sym = head
    for line in lines:
        if not line.startswith("%"):
            break
    m, n, nnz = map(int, line.split())
    a = np.zeros((m, n))
    seen = 0
    for line in lines:
        if not line.strip():
            continue
        i, j, *rest = line.split()
        v = float(rest[0]) if rest else 1.0
        a[int(i) - 1, int(j) - 1] = v
        if sym == "symmetric":
            a[int(j) - 1, int(i) - 1] = v
        seen += 1
    if seen != nnz:
        raise ValueError(f"expected {nnz} entries, found {seen}")
    return a


def ini(text):
    cfg = {}
    section = "default"
    for no, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        if line[0] == "[" and line[-1] == "]":
            section = line[1:-1]
            continue
        k, eq, v = line.partition("=")
        if not eq:
            raise ValueError(f'line {no}: no "=" in {line!r}')
        cfg.setdefault(section, {})[k.strip()] = v.strip()
    return cfg


def dates(lines):
    out = {}
    for l in lines:
        y, m, d = l.split("-")
        key = f"{int(y):04d}-{int(m):02d}"
        out[key] = out.get(key, 0) + int(d)
    return out


# --- Texts ---


def tokenise(text):
    toks = []
    i = 0
    while i < len(text):
        c = text[i]
        if c.isspace():
            i += 1
        elif c.isdigit() or c == ".":
            j = i
            while j < len(text) and (text[j].isdigit() or text[j] == "."):
                j += 1
            toks.append(("num", text[i:j]))
            i = j
        elif c.isalpha() or c == "_":
            j = i
            while j < len(text) and (text[j].isalnum() or text[j] == "_"):
                j += 1
            toks.append(("id", text[i:j]))
            i = j
        elif c in "+-*/()^":
            toks.append(("op", c))
            i += 1
        else:
            raise SyntaxError(f"bad character {c!r} at {i}")
    return toks


PREC = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}


def evaluate(text, env):
    out = []
    ops = []
    for kind, t in tokenise(text):
        if kind == "num":
            out.append(float(t))
        elif kind == "id":
            out.append(env[t])
        elif t == "(":
            ops.append(t)
        else:
            while ops and ops[-1] != "(" and (t == ")" or PREC[ops[-1]] >= PREC[t]):
                o = ops.pop()
                b = out.pop()
                a = out.pop()
                out.append(
                    a + b
                    if o == "+"
                    else a - b
                    if o == "-"
                    else a * b
                    if o == "*"
                    else a / b
                    if o == "/"
                    else a**b
                )
            if t == ")":
                ops.pop()
            else:
                ops.append(t)
    while ops:
        o = ops.pop()
        b = out.pop()
        a = out.pop()
        out.append(
            a + b if o == "+" else a - b if o == "-" else a * b if o == "*" else a / b if o == "/" else a**b
        )
    return out[0]


def rle(s):
    return "".join(f"{len(list(g))}{k}" for k, g in itertools.groupby(s))


def unrle(s):
    n = ""
    out = ""
    for c in s:
        if c.isdigit():
            n += c
        else:
            out += c * int(n or "1")
            n = ""
    return out


def fortran(xs, names):
    out = []
    for i, (n, x) in enumerate(zip(names, xs), 1):
        out.append(f"{i:5d} {n:<8s}{x:12.4E}{x:10.3f} {'*' if x > 1 else ' '}")
    out.append("-" * 40)
    out.append("%5s %-8s%12.5g" % ("sum", "total", sum(xs)))
    return "\n".join(out)


def table2(names, vals):
    w = max(map(len, names))
    return "\n".join(f"{n:>{w}}: {v:8.3f}" for n, v in zip(names, vals))


def caesar(s, k):
    out = ""
    for ch in s:
        if ch.isupper():
            out += chr((ord(ch) - 65 + k) % 26 + 65)
        elif ch.islower():
            out += chr((ord(ch) - 97 + k) % 26 + 97)
        else:
            out += ch
    return out


def walrus(text):
    out = []
    i = 0
    while (j := text.find("(", i)) >= 0:
        k = text.index(")", j)
        out.append(text[j + 1 : k])
        i = k + 1
    return out


def lzw(text):
    d = {chr(i): i for i in range(256)}
    w = ""
    out = []
    for c in text:
        if w + c in d:
            w += c
        else:
            out.append(d[w])
            d[w + c] = len(d)
            w = c
    if w:
        out.append(d[w])
    inv = {i: chr(i) for i in range(256)}
    if not out:
        return out, ""
    w = inv[out[0]]
    res = w
    for k in out[1:]:
        if k in inv:
            e = inv[k]
        elif k == len(inv):
            e = w + w[0]
        else:
            raise ValueError("bad code %d" % k)
        res += e
        inv[len(inv)] = w + e[0]
        w = e
    return out, res


# --- Machines and bytes ---

Event = namedtuple("Event", "time kind who")


def simulate(n, seed):
    q = []
    s = seed
    served = 0
    waiting = deque()
    busy = False
    log = []
    heapq.heappush(q, Event(0.0, "arrive", 0))
    clock = 0.0
    while q and served < n:
        e = heapq.heappop(q)
        clock = e.time
        s = (s * 1103515245 + 12345) % 2147483648
        u = (s + 1) / 2147483649
        if e.kind == "arrive":
            waiting.append(e.who)
            heapq.heappush(q, Event(clock - math.log(u), "arrive", e.who + 1))
        else:
            busy = False
            served += 1
            log.append((round(clock, 6), e.who))
        if not busy and waiting:
            busy = True
            heapq.heappush(q, Event(clock + 0.5, "done", waiting.popleft()))
    return clock, log, len(waiting)


def stack_vm(prog):
    st = []
    pc = 0
    var = {}
    steps = 0
    ops = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
    while pc < len(prog):
        op, arg = prog[pc]
        pc += 1
        steps += 1
        if steps > 1000:
            raise RuntimeError("too many steps")
        if op == "push":
            st.append(float(arg))
        elif op == "load":
            st.append(var[arg])
        elif op == "store":
            var[arg] = st.pop()
        elif op == "jnz":
            if st.pop() != 0:
                pc = int(arg)
        elif op in ops:
            b = st.pop()
            a = st.pop()
            st.append(ops[op](a, b))
        else:
            raise ValueError(f"unknown op {op!r} at {pc - 1}")
    return var


PROG = [
    ("push", "1"),
    ("store", "r"),
    ("push", "5"),
    ("store", "n"),
    ("load", "r"),
    ("load", "n"),
    ("*", ""),
    ("store", "r"),
    ("load", "n"),
    ("push", "1"),
    ("-", ""),
    ("store", "n"),
    ("load", "n"),
    ("jnz", "4"),
]


def crc(data):
    table = []
    for i in range(256):
        c = i
        for _ in range(8):
            c = (c >> 1) ^ 0xEDB88320 if c & 1 else c >> 1
        table.append(c)
    c = 0xFFFFFFFF
    for b in data:
        c = table[(c ^ b) & 0xFF] ^ (c >> 8)
    return f"{c ^ 0xFFFFFFFF:08x}"


def hexdump(b):
    out = []
    for o in range(0, len(b), 8):
        c = b[o : o + 8]
        out.append(
            f"{o:04x}  {' '.join(f'{x:02x}' for x in c):<24} {''.join(chr(x) if 32 <= x < 127 else '.' for x in c)}"
        )
    return "\n".join(out)


def struct_like(b):
    n = int.from_bytes(b[:4], "little")
    return n, [int.from_bytes(b[4 + 2 * i : 6 + 2 * i], "big") for i in range(n)]


B64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def b64(data):
    out = []
    for i in range(0, len(data), 3):
        chunk = data[i : i + 3]
        pad = 3 - len(chunk)
        chunk = chunk + b"\0" * pad
        n = (chunk[0] << 16) | (chunk[1] << 8) | chunk[2]
        q = [B64[(n >> s) & 63] for s in (18, 12, 6, 0)]
        if pad:
            q[-pad:] = ["="] * pad
        out += q
    return "".join(out)


def unb64(s):
    table = {c: i for i, c in enumerate(B64)}
    out = bytearray()
    for i in range(0, len(s), 4):
        q = s[i : i + 4]
        n = 0
        for c in q:
            n = n * 64 + table.get(c, 0)
        b = n.to_bytes(3, "big")
        out += b[: 3 - q.count("=")]
    return bytes(out)


def matchy(cmds):
    x = y = 0
    log = []
    for c in cmds:
        match c.split():
            case ["go", ("n" | "s") as d, n]:
                y += int(n) if d == "n" else -int(n)
            case ["go", "e", n]:
                x += int(n)
            case ["say", *words]:
                log.append(" ".join(words))
            case _:
                log.append(f"?{c}")
    return x, y, log


# --- both ways ---

CASES = {
    kmers: [("ACGTACGTNNACGTTTGACA", 3), ("", 3), ("ACXGT", 2)],
    parse_fasta: [(">a x\nACG\nTT\n\n>b\nGG\n",), ("",), (">\nACG",)],
    cigar: [("10M2I3D5S",), ("",), ("3Q",)],
    vcf: [(["#h", "1 5 . A C,AT x", "2 6 . AC A x"],), ([],), (["1 2"],)],
    gff: [(GFF,), ("#",), (GFF + "\nc\tx",), (GFF.replace("Name=b", "Name"),)],
    smith: [("TGTTACGG", "GGTTGACTA"), ("", "A")],
    suffix_array: [("banana",), ("",)],
    edit: [("kitten", "sitting"), ("", "")],
    parse_csv: [("a, b,c\n1,2,3\n4,,6\n",), ("a\nx\n",)],
    parse_pdb: [(PDB,), (PDB.replace("27.340", "27.3x0"),)],
    matrix_market: [(MM,), (MM[:-6],), ("x y",), (MM.replace("2 1 -1.5", "2 9 -1.5"),)],
    ini: [("a=1\n[s]\nb = 2 # c\n",), ("x\n",), ("",)],
    dates: [(["2020-1-5", "2020-01-7", "2021-12-1"],), (["x"],), (["2020-a-1"],)],
    evaluate: [
        ("2*(x+3)-y/4^2", {"x": 1.5, "y": 8.0}),
        ("z", {"x": 1.0}),
        ("1 $ 2", {"x": 1.0}),
        ("1 +", {"x": 1.0}),
        ("1/0", {"x": 1.0}),
    ],
    rle: [("aaabcc",), ("",)],
    unrle: [("3a1b2c",), ("",)],
    fortran: [([1.5, -22.25, 1e10], ["alpha", "beta", "g"])],
    table2: [(["a", "bbb"], [1.5, -2.0]), ([], [])],
    caesar: [("Hello, W!", 3)],
    walrus: [("f(a)+g(bc)",), ("f(a",)],
    lzw: [("TOBEORNOTTOBEORTOBEORNOT",), ("",), ("é€",)],
    simulate: [(20, 7), (0, 1)],
    stack_vm: [(PROG,), ([("bad", "x")],), ([("load", "q")],), ([("push", "x")],), ([("+", "")],)],
    crc: [(b"123456789",), (b"",)],
    hexdump: [(b"hello\x00\xffworld!",), (b"",)],
    struct_like: [(b"\x02\0\0\0\x01\x02\x03\x04",), (b"",)],
    b64: [(b"hello w",), (b"",)],
    unb64: [("aGVsbG8gdw==",), ("a",)],
    matchy: [(["go n 3", "go e 2", "say hi you", "jump", "go s 1"],), (["go n x"],)],
}


@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_program(program):
    compiled = njit(program)
    for args in CASES[program]:
        agree(outcome(compiled, args), outcome(program, args))
