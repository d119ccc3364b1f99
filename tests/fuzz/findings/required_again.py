"""Found by seed 5110334: diff. What has the layout that is asked for is not copied, so stores show.

expected and got, call 0: returns item 1: element [1, 0]: np.float32(1.5), got np.float32(0.0)
"""

import sys
from pathlib import Path

SOURCE = """\
@jit
def main(a1):
    n1 = np.require(a1, np.float32, 'C')
    n2 = np.require(n1, np.float32, 'C')
    n1[1, 0] = 1.5
    return n1, n2
"""
CALLS = [
    [
        "mk('uint64', (3, 2), 'F', '010000000000000006000000000000000000000000000000060000000000000000000000000000000300000000000000', 0)",
    ],
]
PROMOTION = "treadle"
OPTIONS = {}

if __name__ == "__main__":
    here = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(here))
    import check

    request = {"source": SOURCE, "calls": CALLS, "promotion": PROMOTION, "options": OPTIONS}
    print(check.check_text(request, "treadle"))
