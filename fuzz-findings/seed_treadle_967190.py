"""Found by seed 967190: diff.

expected and got, call 0: argument 0: element [1, 0, 2]: np.float64(1.0), got np.float64(0.0)
"""

import sys
from pathlib import Path

SOURCE = """\
@jit
def main(a0):
    a0[...] = a0[0] != a0
"""
CALLS = [
    ["mk('float64', (3, 2, 4), 'C', '0056d0edabc821c00000000000000040fe0262374ac5b3c00000000000000c4010dc61ad69090dc0c88cbb8366c6a0c0000000000000f07f0000000000000080b0683a2d0b2da740000000000000f0bf0000000000000000a671e8a6a24ac140aebe2da81a0704c00000000000000080c4e08b87503ca440d405f207fb58a44000000000000008c094be65f882a8234000000000000000002cf21182517a1e40000000000000044084563a290a12bf40480fb959572ebbc00000000000000000', 0)"],
]
PROMOTION = 'treadle'
OPTIONS = {'inline': 'always'}

if __name__ == "__main__":
    here = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(here) if (here / "check.py").exists() else '/work/main/tests/fuzz')
    import check

    request = {"source": SOURCE, "calls": CALLS, "promotion": PROMOTION, "options": OPTIONS}
    print(check.check_text(request, "treadle"))
