"""Collects the samples of each group of rows, peers taking turns.

A measuring function takes the harness and the set of measurements wanted, and
adds samples to what is there: measuring again refines, it does not replace.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import creference
import elementwise
import emulated
import kernels
from harness import HERE, ChildError, Harness, say
from rows import Samples


def add(samples: Samples, measurement: str, variant: str, values: list[float]) -> None:
    samples.setdefault(measurement, {}).setdefault(variant, []).extend(values)


def fresh_processes(harness: Harness, samples: Samples, action: str, measurement: str) -> None:
    """One sample per process and peer; the first round warms the file cache and is dropped."""
    alive = list(harness.jits)
    for number in range(harness.rounds(11, 5) + 1):
        for peer in list(alive):
            try:
                report = harness.child("child_waits", action, "--peer", peer)
            except ChildError as error:
                harness.notes.append(str(error))
                alive.remove(peer)
                continue
            if number > 0:
                add(samples, measurement, peer, [report["seconds"]])


def measure_import(harness: Harness, wanted: set[str], samples: Samples) -> None:
    fresh_processes(harness, samples, "import", "import")


def measure_first(harness: Harness, wanted: set[str], samples: Samples) -> None:
    fresh_processes(harness, samples, "first", "first call")


def measure_cached(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """The first process fills the cache, the others must load from it."""
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
        alive = list(harness.jits)
        for peer in alive:
            (Path(folder) / peer).mkdir(mode=0o700)
        for number in range(harness.rounds(11, 5) + 2):
            for peer in list(alive):
                where = {f"{peer.upper()}_CACHE_DIR": str(Path(folder) / peer)}
                try:
                    report = harness.child("child_waits", "cached", "--peer", peer, env=where)
                except ChildError as error:
                    harness.notes.append(str(error))
                    alive.remove(peer)
                    continue
                if number > 1 and report["loaded"]:
                    add(samples, "cached call", peer, [report["seconds"]])
                elif number > 1:
                    harness.notes.append(f"cached call: {peer} did not load from its cache")
                    alive.remove(peer)


def measure_compile(harness: Harness, wanted: set[str], samples: Samples) -> None:
    if not harness.jits:
        return
    variants = ",".join(harness.jits)
    rounds = str(harness.rounds(11, 5))
    report = harness.child("child_waits", "compile", "--variants", variants, "--rounds", rounds)
    for what, error in report["failed"].items():
        harness.notes.append(f"compile/{what}: {error}")
    for kind, by_variant in report["samples"].items():
        for variant, values in by_variant.items():
            add(samples, f"compile/{kind}", variant, values)


def measure_large(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """Only Treadle: its stages, and LLVM's default pipeline on the module that it makes."""
    if "treadle" not in harness.jits:
        return
    report = harness.child("child_waits", "large", "--rounds", str(harness.rounds(7, 3)))
    got = report["samples"]
    harness.facts.append(
        f"large: {report['blocks']} bodies, {report['instructions']:,} LLVM instructions before passes"
    )
    add(samples, "large/own share", "treadle", got["own"])
    add(samples, "large/total", "treadle", got["total"])
    add(samples, "large/total", "llvm-O3", got["O3"])
    add(samples, "large/doubled", "once", got["total"])
    add(samples, "large/doubled", "twice", got["twice"])


def calls(
    harness: Harness,
    samples: Samples,
    prefix: str,
    variants: list[str],
    *options: str,
    env: dict[str, str] | None = None,
) -> None:
    rounds = str(harness.rounds(25, 9))
    for _ in range(harness.rounds(3, 1)):
        report = harness.child(
            "child_calls", "--variants", ",".join(variants), "--rounds", rounds, *options, env=env
        )
        for kind, by_variant in report["samples"].items():
            for variant, values in by_variant.items():
                add(samples, f"{prefix}/{kind}", variant, values)
    for what, error in report["failed"].items():
        harness.notes.append(f"{prefix}/{what}: {error}")


def measure_calls(harness: Harness, wanted: set[str], samples: Samples) -> None:
    calls(harness, samples, "call", [*harness.jits, "python"])


def measure_ufunc_calls(harness: Harness, wanted: set[str], samples: Samples) -> None:
    calls(harness, samples, "ufunc call", [*harness.jits, "numpy"], "--ufuncs")


def measure_launches(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """Only Treadle: floors in microseconds, not ratios."""
    if "treadle" in harness.jits:
        calls(harness, samples, "launch", ["treadle"], "--launches")


def measure_library_calls(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """Only Treadle, beside the work itself: four items."""
    if "treadle" in harness.jits:
        calls(harness, samples, "library call", ["treadle"], "--libraries", env={"TREADLE_CUDA": "emu"})


def on_no_gpu(harness: Harness, samples: Samples, prefix: str, option: str) -> None:
    """The host's side of calls on a GPU: driver and libraries are the tests'."""
    tests = harness.treadle.parent / "tests" if harness.treadle else None
    if "treadle" not in harness.jits or not tests or not (tests / "libfake_cuda.so").exists():
        harness.notes.append(f"{prefix}: no driver of the tests was built: its rows are missing")
        return
    env = {
        "TREADLE_CUDA": "gpu",
        "TREADLE_CUDA_DRIVER": str(tests / "libfake_cuda.so"),
        "TREADLE_CUDA_LIBS": f"{tests / 'libfake_cufft.so'}:{tests / 'libfake_cublas.so'}",
    }
    calls(harness, samples, prefix, ["treadle"], option, env=env)


def measure_gpu_launches(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """The driver forgets them."""
    on_no_gpu(harness, samples, "gpu launch", "--launches")


def measure_gpu_library_calls(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """The libraries do them; of a GPU of compute capability 9, where cuBLAS' workspace is 32 MiB."""
    on_no_gpu(harness, samples, "gpu library call", "--libraries")


def measure_emulated(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """Kernels of the emulated device; all of one pass in one process, which has one thread."""
    if "treadle" not in harness.jits:
        return
    library = c_libraries(harness, "emulated.c", creference.EMULATED).get("emulated", "")
    names = [name for name in emulated.CASES if f"kernel/{name}" in wanted]
    reports = [
        harness.child(
            "child_emulated",
            "--cases",
            "|".join(names),
            "--library",
            library,
            "--rounds",
            str(harness.rounds(11, 5)),
        )
        for _ in range(harness.rounds(2, 1) if names else 0)
    ]
    if wanted & {"kernel/first launch", "kernel/first PTX"}:
        reports.append(harness.child("child_emulated", "--waits", "--rounds", str(harness.rounds(9, 3))))
    if "kernel/product on two cores" in wanted:
        reports.append(harness.child("child_emulated", "--cores", "--rounds", str(harness.rounds(15, 5))))
    if any(f"kernel/{name}" in wanted for name in emulated.SIMULATED):
        reports.append(harness.child("child_emulated", "--simulator", "--rounds", str(harness.rounds(3, 1))))
    for report in reports:
        for name, by_variant in report["samples"].items():
            for variant, values in by_variant.items():
                add(samples, f"kernel/{name}", variant, values)
        harness.wrong.extend(f"{name}: {text}" for name, text in report["wrong"].items())
        harness.notes.extend(f"kernel/{name}: {text}" for name, text in report["failed"].items())


def measure_first_use(harness: Harness, wanted: set[str], samples: Samples) -> None:
    variants = ",".join(harness.jits)
    rounds = str(harness.rounds(11, 3))
    kinds = ",".join(sorted(name.split("/")[1] for name in wanted))
    report = harness.child(
        "child_waits", "first_use", "--variants", variants, "--rounds", rounds, "--kinds", kinds
    )
    for what, error in report["failed"].items():
        harness.notes.append(f"first use/{what}: {error}")
    for kind, by_variant in report["samples"].items():
        for variant, values in by_variant.items():
            add(samples, f"first use/{kind}", variant, values)


def c_libraries(
    harness: Harness, source: str = "kernels.c", variants: dict[str, list[str]] = creference.VARIANTS
) -> dict[str, str]:
    """Build a C source; say what stands in for clang 19 where that is missing."""
    cc = creference.compiler()
    if cc is None:
        harness.notes.append("no C compiler found (clang-19, gcc): the rows against C are missing")
        return {}
    harness.versions["C compiler"] = creference.version(cc)
    if "clang version 19" not in harness.versions["C compiler"]:
        harness.notes.append(f"clang 19 is missing; C is compiled by: {harness.versions['C compiler']}")
    return {name: str(path) for name, path in creference.build(cc, HERE / ".build", source, variants).items()}


def elementwise_libraries(harness: Harness, names: list[str]) -> dict[str, str]:
    """The libraries that cases' kernels stand in, by the name of their source; tables of C++ where it has Abseil."""
    libraries = c_libraries(harness, "elementwise.c", creference.ELEMENTWISE)
    cpp = any(k.source == "tables" for name in names for k in elementwise.CASES[name].in_c.values())
    cc = creference.compiler()
    if cc and cpp:
        if creference.has_header(cc, creference.ABSEIL):
            libraries |= c_libraries(harness, "tables.cc", creference.TABLES)
        else:
            harness.notes.append("Abseil is missing (libabsl-dev): the rows against C++ are missing")
    return libraries


def measure_run(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """One process per case and pass: code and data land elsewhere each time."""
    libraries = c_libraries(harness)
    variants = [*harness.jits, *libraries]
    if "treadle" in harness.jits:
        variants.insert(1, "treadle-unchecked")
    if not variants:
        return
    names = [name for name in kernels.CASES if f"run/{name}" in wanted]
    for number in range(harness.rounds(3, 1)):
        for name in names:
            say(f"bench: run/{name}, pass {number + 1}")
            try:
                report = harness.child(
                    "child_runtime",
                    name,
                    "--variants",
                    ",".join(variants),
                    "--libraries",
                    json.dumps(libraries),
                    "--rounds",
                    str(harness.rounds(25, 10)),
                )
            except ChildError as error:
                harness.notes.append(str(error))
                continue
            for variant, text in report["wrong"].items():
                harness.wrong.append(f"run/{name}: {variant}: {text}")
            if number == 0:
                for variant, text in report["failed"].items():
                    harness.notes.append(f"run/{name}: {variant}: {text}")
            for variant, values in report["samples"].items():
                add(samples, f"run/{name}", variant, values)


def measure_pool(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """Only Treadle: a floor in microseconds, not a ratio."""
    if "treadle" not in harness.jits:
        return
    for _ in range(harness.rounds(3, 1)):
        report = harness.child("child_pool", "--rounds", str(harness.rounds(400, 100)))
        if report["threads"] < 2:
            harness.notes.append("pool/launch: this machine grants one processor, the pool has one thread")
            return
        add(samples, "pool/launch", "treadle", report["samples"])
    harness.facts.append(f"pool: {report['threads']} threads")


def measure_elementwise(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """One process per case and pass."""
    names = [name for name in elementwise.CASES if f"elementwise/{name}" in wanted]
    libraries = json.dumps(elementwise_libraries(harness, names))
    rounds = str(harness.rounds(15, 7))
    for number in range(harness.rounds(2, 1)):
        for name in names:
            say(f"bench: elementwise/{name}, pass {number + 1}")
            try:
                report = harness.child(
                    "child_elementwise", name, "--libraries", libraries, "--rounds", rounds
                )
            except ChildError as error:
                harness.notes.append(str(error))
                continue
            for variant, text in report["wrong"].items():
                harness.wrong.append(f"{name}: {variant}: {text}")
            if number == 0:
                for variant, text in report["failed"].items():
                    harness.notes.append(f"{name}: {variant}: {text}")
            for variant, values in report["samples"].items():
                add(samples, f"elementwise/{name}", variant, values)


def measure_memory(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """Only Treadle: Numba would take minutes, and the row has no peer."""
    if "treadle" not in harness.jits:
        return
    report = harness.child("child_waits", "memory", "--peer", "treadle")
    add(samples, "memory", "treadle", [report["mib"]])


Measure = Callable[[Harness, set[str], Samples], None]

# measurement prefix -> what fills it, in the order of running
MEASURES: dict[str, Measure] = {
    "import": measure_import,
    "first call": measure_first,
    "compile": measure_compile,
    "large": measure_large,
    "cached call": measure_cached,
    "call": measure_calls,
    "launch": measure_launches,
    "gpu launch": measure_gpu_launches,
    "library call": measure_library_calls,
    "gpu library call": measure_gpu_library_calls,
    "kernel": measure_emulated,
    "run": measure_run,
    "pool": measure_pool,
    "memory": measure_memory,
    "elementwise": measure_elementwise,
    "ufunc call": measure_ufunc_calls,
    "first use": measure_first_use,
}


def measure(harness: Harness, wanted: set[str], samples: Samples) -> None:
    """Collect samples for the measurements in `wanted`."""
    for prefix, function in MEASURES.items():
        mine = {name for name in wanted if name.split("/")[0] == prefix}
        if not mine:
            continue
        say(f"bench: {prefix}")
        try:
            function(harness, mine, samples)
        except ChildError as error:
            harness.notes.append(str(error))
