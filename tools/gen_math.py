"""Measure the functions of mathematics and write the tables of docs/math.md: ``gen_math.py TEST_VMATH [SAMPLES]``.

TEST_VMATH is the program made from tests/c/test_vmath.c (``build/3.11/tests/test_test_vmath``). Must run on a processor with FMA, or the
figures for such would be missing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "math.md"
TABLES = {
    "table": """| function | float64 | float32 | float64, fastmath | float32, fastmath | whose |
|---|---|---|---|---|---|
""",
    "scalars": """| function | float64 | not the nearest | float32 | not the nearest | whose |
|---|---|---|---|---|---|
""",
}


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    samples = sys.argv[2] if len(sys.argv) == 3 else "300000"
    page = PAGE.read_text()
    for name, head in TABLES.items():
        rows = subprocess.run([sys.argv[1], f"--{name}", samples], capture_output=True, text=True)
        if rows.returncode or "NOT TESTED" in rows.stdout:
            print(rows.stderr or rows.stdout, file=sys.stderr)
            return 1
        before, rest = page.split(f"<!-- {name} -->\n")
        after = rest.split("<!-- end -->", 1)[1]
        page = f"{before}<!-- {name} -->\n{head}{rows.stdout}<!-- end -->{after}"
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
