"""Child process: what it costs to launch an empty parallel region, by the clock on the wall.

Prints one JSON object: {"threads": n, "samples": [seconds a launch, ...]}.

The pool is warm: launches follow each other, so its workers are awake. A region has as many ranges as there are
threads, and is over when each of them has been run by somebody.
"""

from __future__ import annotations

import argparse
import json

import treadle
from treadle import _core


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--launches", type=int, default=50, help="launches a sample")
    options = parser.parse_args()

    threads = treadle.get_num_threads()
    samples = [
        _core._pool_launch(threads, options.launches) / options.launches for _ in range(options.rounds + 1)
    ]
    print(json.dumps({"threads": threads, "samples": samples[1:]}))


if __name__ == "__main__":
    main()
