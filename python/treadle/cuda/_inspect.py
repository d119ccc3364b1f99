"""What a kernel says of itself: its signatures, its code for a GPU, and what that needs there."""

from __future__ import annotations

import math
import operator
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, NamedTuple, TextIO

from .._core import Function, Signature, Type, signature, typeof
from ..errors import UnsupportedError
from ..types import Tuple
from ._compile import current_cc, device_flags, target_of, text_of
from ._devices import attributes, is_emulated, least_cc

__all__ = ["Definition", "Inspection", "Resources", "definition_of", "inspect_ptx"]

_REGISTERS = 65536  # of a block (CUDA C Programming Guide, technical specifications, 7.5 to 9.0)
_ROUND = 256  # registers are given to a warp in as many


class Resources(NamedTuple):
    """What NVIDIA's assembler says that a kernel takes: registers of a thread, and bytes."""

    registers: int
    local: int
    shared: int
    constant: int


def tool(name: str) -> str | None:
    """Path of a program of the CUDA toolkit: in ``CUDA_HOME``, else on ``PATH``."""
    home = os.environ.get("CUDA_HOME")
    return shutil.which(name, path=f"{home}/bin" if home else None)


def _need(names: tuple[str, ...], what: str) -> str:
    for name in names:
        path = tool(name)
        if path:
            return path
    raise UnsupportedError(
        f"{what} {'is' if len(names) == 1 else 'are'} told by {' or '.join(names)} of NVIDIA's CUDA toolkit, which was not found: "
        "install it, and set CUDA_HOME or PATH"
    )


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(words[0]).name} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout + done.stderr


def _assemble(ptx: str, folder: str, verbose: bool) -> tuple[str, str]:
    """Path of the cubin that ptxas makes, and what it says."""
    ptxas = _need(("ptxas",), "registers and bytes")
    arch = re.search(r"(?m)^\.target (\w+)", ptx)
    source, cubin = Path(folder, "kernel.ptx"), str(Path(folder, "kernel.cubin"))
    source.write_text(ptx)
    said = _run(
        ptxas,
        *(["-v"] if verbose else []),
        *(["-g"] if ", debug" in ptx else []),
        f"-arch={arch[1] if arch else 'sm_75'}",
        "-o",
        cubin,
        str(source),
    )
    return cubin, said


def resources(ptx: str) -> Resources:
    """What the kernel of a PTX text takes."""
    with tempfile.TemporaryDirectory() as folder:
        _, said = _assemble(ptx, folder, True)

    def number(pattern: str) -> int:
        return sum(int(n) for n in re.findall(pattern, said))

    return Resources(
        number(r"Used (\d+) registers"),
        number(r"(\d+) bytes stack frame"),
        number(r"(\d+) bytes smem"),
        _constant_bytes(ptx),
    )


def _constant_bytes(ptx: str) -> int:
    """Of constant arrays, one behind the other: ptxas does not say them in all versions."""
    end = 0
    for align, bits, items in re.findall(r"(?m)^\.const \.align (\d+) \.b(\d+) [\w$]+\[(\d+)\]", ptx):
        end += -end % int(align) + int(bits) // 8 * int(items)
    return end


def sass(ptx: str) -> str:
    """The processor's own instructions for a PTX text."""
    shows = _need(("cuobjdump", "nvdisasm"), "the processor's instructions")
    with tempfile.TemporaryDirectory() as folder:
        cubin, _ = _assemble(ptx, folder, False)
        return _run(shows, *(["--dump-sass"] if Path(shows).name == "cuobjdump" else []), cubin)


def inspect_ptx(function: Function, options: dict[str, Any], args: Any, nvvm_options: Any = None) -> str:
    """PTX of a device function for argument types, for the current device; ``nvvm_options`` is taken, and says nothing here."""
    return text_of(function, tuple(args), "ptx", False, device_flags(options), current_cc()).text


def is_constant(t: Any) -> bool:
    """Whether it is the type of one constant: of a class, such as ``np.int32``, or of a function."""
    return isinstance(t, Type) and callable(getattr(t, "literal_value", None))


def is_of_constants(sig: Any) -> bool:
    """Whether a signature, or a tuple of types, has such a type."""
    types = sig.args if isinstance(sig, Signature) else sig
    return isinstance(types, tuple) and any(map(is_constant, types))


def without_constants(
    function: Function, flags: dict[str, int], types: tuple[Any, ...]
) -> tuple[Function, tuple[Any, ...]]:
    """A function that calls a kernel with the constants of a signature, and the types of its own parameters; of other signatures what was given."""
    if not is_of_constants(types):
        return function, types
    names = [f"a{k}" for k in range(len(types))]
    scope = {name: t.literal_value for name, t in zip(names, types) if is_constant(t)} | {"of": function}
    left = ", ".join(name for name in names if name not in scope)
    exec(f"def bound({left}):\n    of({', '.join(names)})", scope)
    bound = scope["bound"]
    bound.__name__, bound.__qualname__ = function.__name__, function.__qualname__
    own = tuple(t for t in types if not is_constant(t))
    return Function(bound, flags, {}), own


class Definition:
    """A kernel for one signature: the values of ``overloads``.

    Attributes
    ----------
    signature : tuple of Type
    params : list of tuple
        The parameters of the code: (argument, or -1 for the record of exceptions, part, bytes, offset).
    """

    def __init__(self, kernel: Inspection, types: tuple[Any, ...]) -> None:
        self._kernel = kernel
        self.signature = types
        self._texts: dict[tuple[str, str], Any] = {}
        self._resources: dict[str, Resources] = {}
        self._without: Function | None = None  # of a signature with constants, on a GPU

    def _text(self, stage: str, cc: Any = None) -> Any:
        cc = current_cc() if cc is None else cc
        key = stage, target_of(cc)
        if key not in self._texts:
            function, types = without_constants(self._kernel._kernel, self._kernel._flags, self.signature)
            self._texts[key] = text_of(
                function,
                types,
                stage,
                True,
                device_flags(self._kernel.targetoptions),
                cc,
            )
        return self._texts[key]

    ptx = property(lambda self: self.inspect_asm(), doc="PTX for the current device.")
    params = property(lambda self: self._text("ptx").params)

    def inspect_asm(self, cc: Any = None) -> str:
        """PTX, for the current device or the compute capability ``cc``."""
        return self._text("ptx", cc).text

    def inspect_llvm(self) -> str:
        """LLVM's code after its passes."""
        return self._text("llvmopt").text

    def inspect_sass(self, cc: Any = None) -> str:
        """The processor's own instructions, by programs of the CUDA toolkit."""
        return sass(self.inspect_asm(cc))

    def _on_gpu(self) -> tuple[Any, tuple[Any, ...]]:
        """The kernel's code on the GPU, compiled for this signature, and its types there."""
        code, types = self._kernel._of_gpu(), self.signature
        if is_of_constants(types):
            bound, types = without_constants(self._kernel._kernel, self._kernel._flags, types)
            if self._without is None:
                self._without = self._kernel._for_gpu(bound.py_func)
            code = self._without
        if types not in code.signatures:
            code.compile(signature(types))
        return code, types

    def _takes(self) -> Resources:
        if not is_emulated():
            code, types = self._on_gpu()
            return Resources(*code._takes(types)[:4])
        target = target_of(least_cc())
        if target not in self._resources:
            self._resources[target] = resources(self.inspect_asm())
        return self._resources[target]

    regs_per_thread = property(lambda self: self._takes().registers)
    local_mem_per_thread = property(lambda self: self._takes().local)
    shared_mem_per_block = property(lambda self: self._takes().shared)
    const_mem_size = property(lambda self: self._takes().constant)

    @property
    def max_threads_per_block(self) -> int:
        """As many as have registers, and as the launch bounds allow."""
        if not is_emulated():
            code, types = self._on_gpu()
            return int(code._takes(types)[4])
        of_warp = -(-max(self.regs_per_thread, 1) * 32 // _ROUND) * _ROUND
        bounds = device_flags(self._kernel.targetoptions).get("max_threads", 1024)
        return min(1024, _REGISTERS // of_warp * 32, bounds)

    def _held(self, threads: int, nbytes: int) -> int:
        """Blocks of so many threads and bytes of dynamic shared memory that a multiprocessor holds."""
        if not is_emulated():
            code, types = self._on_gpu()
            return int(code._held(types, threads, nbytes))
        has = attributes()
        warps = -(-threads // has["WARP_SIZE"])
        by_shared = has["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"] // (
            nbytes + has["RESERVED_SHARED_MEMORY_PER_BLOCK"]
        )
        by_threads = has["MAX_THREADS_PER_MULTIPROCESSOR"] // (warps * has["WARP_SIZE"])
        return min(has["MAX_BLOCKS_PER_MULTIPROCESSOR"], by_threads, by_shared)

    def active_blocks_per_multiprocessor(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks of this size a multiprocessor runs at the same time.

        The emulated device counts by the limits that it tells; registers and static shared memory, which only a GPU's code has, are not among what it counts.

        Parameters
        ----------
        blockdim : int or tuple of int
            Threads of a block.
        dynsmemsize : int
            Its bytes of dynamic shared memory.

        Raises
        ------
        ValueError
            The device has no such block.
        """
        most = attributes()["MAX_THREADS_PER_BLOCK"]
        sizes = [
            operator.index(n) for n in (blockdim if isinstance(blockdim, (tuple, list)) else (blockdim,))
        ]
        threads = math.prod(sizes)
        if not 1 <= threads <= most:
            raise ValueError(f"a block of {threads} threads; a device takes 1 to {most}")
        if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
            raise ValueError(f"the block {blockdim}: one to three sizes of at least 1")
        return self._held(threads, _dynamic_bytes(dynsmemsize))

    def max_potential_block_size(self, dynsmemsize: Any = 0, blocksizelimit: int = 0) -> tuple[int, int]:
        """The size of a block with which multiprocessors are fullest, and how many such blocks the device runs at the same time: (blocks, threads).

        A grid of fewer blocks leaves some of the device idle. What is counted is said at `active_blocks_per_multiprocessor`.

        Parameters
        ----------
        dynsmemsize : int or function of an int
            Bytes of dynamic shared memory of a block, or what says them for so many threads.
        blocksizelimit : int
            Threads of a block, at most; 0: as many as the kernel may have.

        Raises
        ------
        ValueError
            No block of the kernel fits the device; the limit is negative.
        """
        has = attributes()
        limit = operator.index(blocksizelimit)
        if limit < 0:
            raise ValueError(f"a block of {limit} threads at most")
        if not callable(dynsmemsize):
            nbytes = _dynamic_bytes(dynsmemsize)
            if not is_emulated():
                code, types = self._on_gpu()
                return code._suits(types, min(limit, has["MAX_THREADS_PER_BLOCK"]), nbytes)  # type: ignore[no-any-return]
            return self._fullest(limit, lambda _: nbytes)
        return self._fullest(limit, dynsmemsize)

    def _fullest(self, limit: int, shared_of: Callable[[int], int]) -> tuple[int, int]:
        """What CUDA's driver does, which takes no function of Python's: whole warps, and the limit. Of sizes that are as good the largest."""
        has = attributes()
        warp, room = has["WARP_SIZE"], has["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]
        most = min(limit or has["MAX_THREADS_PER_BLOCK"], self._most_threads())
        best = (0, 0)
        for threads in (most, *range((most - 1) // warp * warp, 0, -warp)):
            nbytes = operator.index(shared_of(threads))
            if nbytes < 0:
                raise ValueError(f"{nbytes} bytes of dynamic shared memory for {threads} threads")
            held = self._held(threads, nbytes) if nbytes <= room else 0
            if held * threads > best[0] * best[1]:
                best = held, threads
        if best == (0, 0):
            raise ValueError("a block of the kernel has more dynamic shared memory than a multiprocessor")
        return best[0] * has["MULTIPROCESSOR_COUNT"], best[1]

    def _most_threads(self) -> int:
        """As `max_threads_per_block`; of the emulated device, which has no registers, what the device and the launch bounds allow."""
        if not is_emulated():
            return self.max_threads_per_block
        most = attributes()["MAX_THREADS_PER_BLOCK"]
        return min(most, device_flags(self._kernel.targetoptions).get("max_threads", most))

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks of this size run at the same time, as a launch with `cg.this_grid().sync()` needs on hardware.

        The emulated device counts a multiprocessor for each thread of its pool, and what one holds; it runs larger grids, too.

        Parameters
        ----------
        blockdim : int or tuple of int
            Threads of a block.
        dynsmemsize : int
            Its bytes of dynamic shared memory.
        """
        held = self.active_blocks_per_multiprocessor(blockdim, dynsmemsize)
        return held * attributes()["MULTIPROCESSOR_COUNT"]


def _dynamic_bytes(given: Any) -> int:
    most = attributes()["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]
    nbytes = operator.index(given)
    if not 0 <= nbytes <= most:
        raise ValueError(f"{nbytes} bytes of dynamic shared memory; a block has 0 to {most}")
    return nbytes


def definition_of(kernel: Any) -> Definition:
    """One of ``overloads``, or the only one of a kernel.

    Raises
    ------
    TypeError
        It is neither that nor a kernel.
    ValueError
        The kernel has none, or several.
    """
    if isinstance(kernel, Definition):
        return kernel
    if not isinstance(kernel, Inspection):
        raise TypeError(f"a kernel, or one of its overloads, is asked about, not {type(kernel).__name__}")
    known = list(kernel.overloads.values())
    if len(known) != 1:
        raise ValueError(f"{kernel.__qualname__}() has {len(known)} signatures: ask about one of overloads")
    return known[0]


class _Definitions(dict[Any, Any]):
    """Definitions by their types. A key may be whatever names a signature."""

    def __missing__(self, key: Any) -> Any:
        types = signature(key).args
        if types not in self:
            raise KeyError(key)
        return self[types]


class Inspection:
    """The part of `Kernel` that says what it is. Signatures are those that were declared, compiled or launched."""

    _kernel: Function
    _exact: list[tuple[Any, ...]]
    _flags: dict[str, int]
    _for_gpu: Callable[[Any], Function]
    _entries: dict[Any, Function]
    _new_entry: Callable[[Any], Function]
    _of_gpu: Callable[[], Function]
    _code: Function | None
    py_func: Callable[..., Any]
    targetoptions: dict[str, Any]
    __qualname__: str

    def _declared(self) -> list[tuple[Any, ...]]:
        """The types of each signature that was declared."""
        return self._exact or [s.args for s in self._kernel._declared]

    def _definitions(self) -> _Definitions:
        known: _Definitions = self.__dict__.setdefault("_known", _Definitions())
        rows = [*self._declared()]
        rows += [row[-1].types for entry in list(self._entries.values()) for row in entry.signatures]
        rows += self._code.signatures if self._code is not None else []
        for types in rows:
            if tuple(types) not in known.keys():
                known[tuple(types)] = Definition(self, tuple(types))
        return known

    @property
    def signatures(self) -> list[tuple[Any, ...]]:
        """Argument types of each signature."""
        return list(self._definitions())

    @property
    def overloads(self) -> dict[tuple[Any, ...], Definition]:
        """What there is of each signature, by its types."""
        return self._definitions()

    @property
    def extensions(self) -> list[Any]:
        """What changes arguments before a launch: nothing, Treadle takes none."""
        return []

    nopython_signatures = property(lambda self: self.signatures)

    @property
    def definitions(self) -> dict[Any, Definition]:
        """``overloads`` under the keys of Numba's first releases: (compute capability, types)."""
        return {(current_cc(), types): d for types, d in self._definitions().items()}

    @property
    def definition(self) -> Definition:
        """The only one of a kernel that is `specialized`."""
        if not self.specialized:
            raise ValueError(f"{self.__qualname__}() is not specialized: overloads has its signatures")
        return next(iter(self._definitions().values()))

    @property
    def specialized(self) -> bool:
        """Whether it has one signature and takes no other: it was made by `specialize`, or declared so."""
        return bool(self.__dict__.get("_specialized")) or len(self._declared()) == 1

    def compile(self, sig: Any) -> Definition:
        """Compile for declared types, and for the current device.

        Raises
        ------
        TypingError, UnsupportedError, LoweringError
            The kernel cannot be compiled for these types.
        """
        types = tuple(signature(sig).args)
        known = self._definitions()
        if types not in known.keys():
            if self._declared():
                raise RuntimeError(f"{self.__qualname__}() has declared signatures, and no other ones")
            made = Definition(self, types)
            made.inspect_asm()
            known[types] = made
        return known[types]

    def _by_signature(self, sig: Any, value: Callable[[Definition], Any]) -> Any:
        known = self._definitions()
        if sig is None:
            return {types: value(d) for types, d in known.items()}
        try:
            return value(known[tuple(sig) if isinstance(sig, list) else sig])
        except KeyError:
            raise KeyError(f"{self.__qualname__}() is not compiled for {sig!r}") from None

    def _told(self, sig: Any, value: Callable[[Definition], Any]) -> Any:
        if sig is None and self.specialized:
            return value(self.definition)
        return self._by_signature(sig, value)

    def _number(self, sig: Any, name: str) -> Any:
        return self._told(sig, lambda d: getattr(d, name))

    @property
    def ptx(self) -> Any:
        """PTX for the current device: a str of a kernel that is `specialized`, else a dict of str by signature."""
        return self.definition.ptx if self.specialized else self.inspect_asm()

    def inspect_asm(self, signature: Any = None) -> Any:
        """PTX for the current device: a str, or without a signature a dict of str by signature."""
        return self._by_signature(signature, lambda d: d.inspect_asm())

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM's code for the current device after its passes, in the same form."""
        return self._by_signature(signature, lambda d: d.inspect_llvm())

    def inspect_sass(self, signature: Any = None) -> Any:
        """The instructions of the current device, by programs of the CUDA toolkit, in the same form."""
        return self._by_signature(signature, lambda d: d.inspect_sass())

    def inspect_emulation(self, signature: Any = None) -> Any:
        """How it runs on the emulated device: a str, or without a signature a dict of str by signature.

        One sentence a line, for blocks of each size that there were in launches, or of each number of axes where sizes are many: which loops are the block's and not each thread's, where threads meet, what is kept for that. A kernel that was not
        launched yet is looked at for blocks of one axis.

        Raises
        ------
        KeyError
            There is no such signature.
        """
        return self._by_signature(signature, lambda d: self._emulation(d.signature))

    def _emulation(self, types: tuple[Any, ...]) -> str:
        texts: dict[Any, str] = {}
        for blocks, entry in list(self._entries.items()):
            for row in entry.signatures:
                if tuple(row[-1].types) == types:
                    texts[blocks] = entry.inspect("emulation", tuple(row))
        if not texts and is_of_constants(types):
            raise UnsupportedError(
                f"{self.__qualname__}(): how it runs with constants is told after a launch"
            )
        if not texts:
            alone = self._new_entry(1)
            alone.compile(signature((*(typeof(0),) * 7, Tuple(types))))
            (texts[1],) = alone.inspect("emulation").values()
        lines = []
        for blocks, text in texts.items():
            if isinstance(blocks, tuple):
                lines.append(f"blocks of {' x '.join(map(str, blocks))} threads:")
            else:
                lines.append(f"blocks of {blocks} {'axis' if blocks == 1 else 'axes'}:")
            lines += [f"  {line.partition(': ')[2]}" for line in dict.fromkeys(text.splitlines())]
        return "\n".join(lines)

    def _reports(self, types: tuple[Any, ...]) -> list[tuple[str, list[str], str]]:
        """Title, sentences and rows for `treadle.report`: of the code for a GPU, and of that for each size of block that ran on the emulated device."""
        d = self._definitions()[types]
        named = f"{self.__qualname__}({', '.join(map(str, types))})"
        try:
            takes = [f"registers of a thread: {d.regs_per_thread}"]
        except (UnsupportedError, RuntimeError, OSError):
            takes = []  # neither a GPU nor NVIDIA's assembler is here to tell
        made = [(f"{named} for a GPU", takes, d._text("report").text)]
        for blocks, entry in list(self._entries.items()):
            size = (
                f"of {' x '.join(map(str, blocks))} threads"
                if isinstance(blocks, tuple)
                else f"of {blocks} {'axis' if blocks == 1 else 'axes'}"
            )
            made += [
                (f"{named} on the emulated device, blocks {size}", [], entry.inspect("report", tuple(row)))
                for row in entry.signatures
                if tuple(row[-1].types) == types
            ]
        return made

    def inspect_types(self, file: TextIO | None = None) -> None:
        """Print the source with the types of its variables, once for each signature."""
        out = sys.stdout if file is None else file
        for types, d in self._definitions().items():
            print(f"{self.__qualname__}({', '.join(map(str, types))})", file=out)
            print(d._text("infer").text, file=out)

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Registers of a thread: an int, or of a kernel that is not `specialized` a dict by signature where none is given."""
        return self._number(signature, "regs_per_thread")

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of local memory of a thread, in the same form."""
        return self._number(signature, "local_mem_per_thread")

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of shared memory of a block, in the same form."""
        return self._number(signature, "shared_mem_per_block")

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant memory of its own, parameters aside, in the same form."""
        return self._number(signature, "const_mem_size")

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Threads that a block may have, as far as registers go, in the same form."""
        return self._number(signature, "max_threads_per_block")

    def get_active_blocks_per_multiprocessor(
        self, blockdim: Any, dynsmemsize: int = 0, signature: Any = None
    ) -> Any:
        """Blocks that a multiprocessor runs at the same time, as ``Definition.active_blocks_per_multiprocessor``, in the same form.

        Raises
        ------
        KeyError
            There is no such signature.
        ValueError
            The device has no such block.
        """
        return self._told(signature, lambda d: d.active_blocks_per_multiprocessor(blockdim, dynsmemsize))

    def get_max_potential_block_size(
        self, dynsmemsize: Any = 0, blocksizelimit: int = 0, signature: Any = None
    ) -> Any:
        """A grid and a block, in (blocks, threads), with which the device is fullest, as ``Definition.max_potential_block_size``, in the same form.

        Raises
        ------
        KeyError
            There is no such signature.
        ValueError
            No block of the kernel fits the device; the limit is negative.
        """
        return self._told(signature, lambda d: d.max_potential_block_size(dynsmemsize, blocksizelimit))
