"""Code of others in kernels: ``cuda.declare_device``, ``link=``, and what of it a compiler makes.

What is linked is LLVM's bitcode, so that it is inlined; CUDA C becomes bitcode by clang. On the emulated device a function may also be somewhere in memory: in a
shared library, or in one that the system's compiler makes of objects, archives or, without clang, of CUDA C.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import warnings
from contextlib import ExitStack
from types import CodeType, FunctionType
from typing import Any, Callable, Iterable, Sequence

from .. import _core, config
from .._core import Signature, Type
from ..decorators import as_signatures
from ..errors import UnsupportedError
from ._errors import LinkerError, MissingFile

__all__ = [
    "Archive",
    "Bitcode",
    "CUSource",
    "Cubin",
    "DeclaredFunction",
    "Fatbin",
    "LTOIR",
    "LinkableCode",
    "LoadedCode",
    "Object",
    "PTXSource",
    "declare_device",
]

_HEADER = os.path.join(os.path.dirname(__file__), "include", "treadle_device.h")
_OF_GPU = "is a GPU's code, which the emulated device does not run: give the CUDA C that it is made of, a .cu file or cuda.CUSource"


class LinkableCode:
    """Something to link to kernels: code, or the path of a file with it.

    Parameters
    ----------
    data : bytes, str or path
        The code (bytes; of source text also ``str``), or, of `Bitcode`, a path.
    name : str, optional
        What messages call it.
    setup_callback, teardown_callback : callable, optional
        Called with a `LoadedCode`: the one when a kernel that is linked to this is about to run for the first time with new types of arguments, the other when
        the kernel is gone, or its device's context is reset.

    Raises
    ------
    TypeError
        ``data`` is no code, or a callback cannot be called.
    """

    kind = ""
    default_name = "<code>"
    _source: str | None = None  # the path of CUDA C beside the file that it is of

    def __init__(
        self,
        data: Any,
        name: str | None = None,
        setup_callback: Callable[..., Any] | None = None,
        teardown_callback: Callable[..., Any] | None = None,
    ) -> None:
        for callback in (setup_callback, teardown_callback):
            if callback is not None and not callable(callback):
                raise TypeError(f"a callback must be callable, not {callback!r}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"a name is a str, not {type(name).__name__}")
        self.name = name or self.default_name
        self.setup_callback, self.teardown_callback = setup_callback, teardown_callback
        self.data = self._read(data)

    @staticmethod
    def from_path(path: str) -> LinkableCode:
        """Of a file, by what its name ends with.

        Raises
        ------
        RuntimeError
            Its name ends with nothing that is known.
        LinkerError
            It is not there.
        """
        return _of_path(os.fspath(path))

    @staticmethod
    def from_path_or_obj(path_or_obj: Any) -> LinkableCode:
        """Itself, or what a file has."""
        return path_or_obj if isinstance(path_or_obj, LinkableCode) else _of_path(os.fspath(path_or_obj))

    def _read(self, data: Any) -> bytes:
        if isinstance(data, str):
            return data.encode()
        if isinstance(data, (bytes, bytearray, memoryview)):
            return bytes(data)
        raise TypeError(f"{type(self).__name__} takes bytes or a str, not {type(data).__name__}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinkableCode) and (self.kind, self.data) == (other.kind, other.data)

    def __hash__(self) -> int:
        return hash((self.kind, self.data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}, {len(self.data)} bytes>"


class PTXSource(LinkableCode):
    """PTX, as text."""

    kind, default_name = "ptx", "<ptx>"


class CUSource(LinkableCode):
    """CUDA C, as text. Functions are found by their names: each stands behind ``extern "C"``.

    Parameters
    ----------
    data : str or bytes
        The text.
    name : str, optional
        The file's name in messages.
    options : sequence of str
        More words for the compiler, such as ``"-DN=4"``.
    """

    kind, default_name = "cu", "<source>.cu"

    def __init__(
        self, data: Any, name: str | None = None, *callbacks: Any, options: Sequence[str] = (), **more: Any
    ) -> None:
        super().__init__(data, name, *callbacks, **more)
        self.options = (options,) if isinstance(options, str) else tuple(options)
        if not all(isinstance(word, str) for word in self.options):
            raise TypeError(f"the compiler's options are words (str), not {options!r}")
        self.folder: str | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CUSource)
            and super().__eq__(other)
            and (self.options, self.folder) == (other.options, other.folder)
        )

    __hash__ = LinkableCode.__hash__


class Bitcode(LinkableCode):
    """LLVM's bitcode: ``bytes``, or the path of a ``.bc`` file."""

    kind, default_name = "bc", "<bitcode>"

    def _read(self, data: Any) -> bytes:
        if isinstance(data, (str, os.PathLike)):
            with open(data, "rb") as f:
                self.name = self.name if self.name != self.default_name else os.fspath(data)
                data = f.read()
        code = super()._read(data)
        if code[:4] not in (b"BC\xc0\xde", b"\xde\xc0\x17\x0b"):
            raise ValueError(f"{self.name} is no bitcode of LLVM's")
        return code


class Fatbin(LinkableCode):
    """Code for several GPUs in one file."""

    kind, default_name = "fatbin", "<fatbin>"


class Cubin(LinkableCode):
    """A GPU's machine code."""

    kind, default_name = "cubin", "<cubin>"


class Archive(LinkableCode):
    """An archive of objects (``.a``)."""

    kind, default_name = "a", "<archive>"


class Object(LinkableCode):
    """An object file (``.o``)."""

    kind, default_name = "o", "<object>"


class LTOIR(LinkableCode):
    """NVIDIA's intermediate code."""

    kind, default_name = "ltoir", "<ltoir>"


class _Library(LinkableCode):
    """A shared library (``.so``), which is opened where it lies: its bytes are its path."""

    kind, default_name = "so", "<library>"


_CLASSES = {
    c.kind: c for c in (PTXSource, CUSource, Bitcode, Fatbin, Cubin, Archive, Object, LTOIR, _Library)
}


def _of_path(path: str) -> LinkableCode:
    suffix = os.path.splitext(path)[1][1:]
    if not suffix:
        raise RuntimeError(f"Don't know how to link file with no extension: {path}")
    if suffix not in _CLASSES:
        raise RuntimeError(f"Don't know how to link file with extension .{suffix}: {path}")
    source = os.path.splitext(path)[0] + ".cu"
    if suffix in ("o", "a", "ptx", "cubin", "fatbin") and not os.path.exists(path) and os.path.exists(source):
        warnings.warn(f"{path} is not there: {source} is compiled in its place", stacklevel=5)
        path, suffix = source, "cu"
    if not os.path.isfile(path):
        raise MissingFile(f"{path} not found")
    if suffix == "so":
        return _Library(os.path.abspath(path), path)
    with open(path, "rb") as f:
        made = _CLASSES[suffix](f.read(), path)
    if isinstance(made, CUSource):
        made.folder = os.path.dirname(os.path.abspath(path))
    made._source = source if suffix != "cu" and os.path.exists(source) else None
    return made


def as_links(link: Any) -> tuple[LinkableCode, ...]:
    """What ``link=`` says: a path or `LinkableCode`, or a list, tuple or set of these; None and empty ones are none."""
    if link is None:
        return ()
    items: Iterable[Any] = link if isinstance(link, (list, tuple, set, frozenset)) else (link,)
    out: list[LinkableCode] = []
    for item in items:
        if isinstance(item, (str, os.PathLike)):
            item = _of_path(os.fspath(item))
        if not isinstance(item, LinkableCode):
            raise TypeError(f"link takes paths and cuda.LinkableCode, not {type(item).__name__}")
        out.append(item)
    return tuple(out)


class LoadedCode:
    """A kernel's code for one signature, as callbacks of `LinkableCode` are given it. What is linked has become a part of it, and no module of a driver's has its variables.

    Attributes
    ----------
    name : str
        The kernel's.
    signature : tuple of Type
    handle : int
        Its number: no other code of this process has it.
    """

    _numbers = itertools.count(1)

    def __init__(self, name: str, signature: tuple[Type, ...]) -> None:
        self.name, self.signature, self.handle = name, signature, next(self._numbers)

    def __repr__(self) -> str:
        return f"<code {self.handle} of {self.name}({', '.join(map(str, self.signature))})>"


_Undo = list[tuple[LoadedCode, Callable[[LoadedCode], object]]]
_ready: set[Setups] = set()  # those whose kernels have run


class Setups:
    """Callbacks of what a kernel is linked to, and for which of its signatures they were called."""

    def __init__(self, name: str, links: Sequence[LinkableCode]) -> None:
        self.name, self.links = name, links
        self._done: set[tuple[Type, ...]] = set()
        self._undo: _Undo = []
        self._lock = threading.RLock()

    def ready(self, signature: tuple[Type, ...]) -> None:
        """Called before the kernel runs with new types: who comes second waits. What a callback raises is the launch's, and undoes what others did."""
        with self._lock:
            if signature in self._done:
                return
            code, before = LoadedCode(self.name, signature), len(self._undo)
            try:
                for link in self.links:
                    if link.setup_callback:
                        link.setup_callback(code)
                    if link.teardown_callback:
                        self._undo.append((code, link.teardown_callback))
            except BaseException:
                self._go_back(before)
                raise
            self._done.add(signature)
            _ready.add(self)

    def end(self) -> None:
        """The kernel is gone, or the device's context."""
        with self._lock:
            _ready.discard(self)
            self._go_back(0)

    def _go_back(self, to: int) -> None:
        with ExitStack() as all_of_them:  # the last one first, and also those behind one that raises
            for code, teardown in self._undo[to:]:
                all_of_them.callback(teardown, code)
            del self._undo[to:]


def end_all() -> None:
    """A context is reset."""
    with ExitStack() as all_of_them:
        for one in list(_ready):
            all_of_them.callback(one.end)


def _named(fn: FunctionType) -> list[Any]:
    """What the names of a function, and of functions in it, stand for."""
    codes = [fn.__code__]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    out = [fn.__globals__[name] for code in codes for name in code.co_names if name in fn.__globals__]
    for cell in fn.__closure__ or ():
        try:
            out.append(cell.cell_contents)
        except ValueError:  # empty as yet
            pass
    return out


def setups_of(kernel: Any, links: Sequence[LinkableCode]) -> Setups | None:
    """Of a kernel that is linked to something with callbacks, by its own links or by declared functions that it or what it calls names; made anew at each call."""
    found: list[LinkableCode] = [*links]
    seen: set[int] = set()
    values: list[Any] = [kernel]
    while values:
        value = values.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, DeclaredFunction):
            found += value.link
        fn = getattr(value, "py_func", value)
        if isinstance(fn, FunctionType):
            values += _named(fn)
            found += getattr(value, "_links", ())
    called = [x for k, x in enumerate(found) if all(x is not y for y in found[:k])]
    called = [x for x in called if x.setup_callback or x.teardown_callback]
    return Setups(kernel.__name__, called) if called else None


class DeclaredFunction:
    """A device function in another language, which kernels call by this name. Made by `declare_device`.

    Attributes
    ----------
    name : str
    signature, sig : Signature
    link : tuple of LinkableCode
    abi : str
    use_cooperative : bool
    """

    def __init__(
        self, name: str, signature: Signature, link: tuple[LinkableCode, ...], abi: str, cooperative: bool
    ) -> None:
        self.name, self.signature, self.link, self.abi = name, signature, link, abi
        self.sig = signature  # its name in Numba
        self.use_cooperative = cooperative
        pointers = tuple(t.layout is not None for t in signature.args)
        types = tuple(t.dtype if is_pointer else t for t, is_pointer in zip(signature.args, pointers))
        ret = None if repr(signature.return_type) == "none" else signature.return_type
        self.__treadle_extern__ = (name, abi == "numba", ret, types, pointers, link)

    def __call__(self, *args: Any) -> Any:
        """TypeError: only kernels and device functions call it."""
        raise TypeError(f"{self.name}() is a device function: kernels call it, and other device functions")

    def __repr__(self) -> str:
        return f"<device function {self.name} {self.signature}>"


def declare_device(
    name: str, sig: Any, link: Any = None, use_cooperative: bool = False, abi: str = "numba"
) -> DeclaredFunction:
    """Declare a device function in another language, for kernels to call.

    Parameters
    ----------
    name : str
        Its symbol: in CUDA C its name, behind ``extern "C"``.
    sig : str or Signature
        Types of its result and its arguments, as ``"int32(int32, float32)"``. A pointer is ``CPointer(float32)``, or an array type: an array goes there, whose items
        lie one after another.
    link : path, LinkableCode, or list, tuple or set of these, optional
        Where its code is; else a kernel's own ``link=`` has it.
    use_cooperative : bool
        It waits for the whole grid.
    abi : str
        ``"numba"``: the function gives a status (int32, 0 is success) and stores its result where its first argument points to. ``"c"``: it gives its result.

    Returns
    -------
    DeclaredFunction

    Raises
    ------
    TypeError
        ``sig`` is no signature with a result and types that C has, or ``link`` holds something else.
    ValueError
        ``abi`` is another word, or ``name`` is no identifier.
    FileNotFoundError, RuntimeError
        A file to link is not there, or is of an unknown kind.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a device function's name is an identifier, not {name!r}")
    if abi not in ("numba", "c"):
        raise ValueError(f"abi is 'numba' or 'c', not {abi!r}")
    if isinstance(sig, str):
        sig = re.sub(r"(?:types\.)?CPointer\(\s*(\w+)\s*\)", r"\1[::1]", sig)
    signatures = as_signatures(sig)
    one = signatures[0] if signatures and len(signatures) == 1 else None
    if isinstance(one, str):
        one = _core.signature(one)
    if not isinstance(one, Signature) or one.return_type is None:
        raise TypeError("Return type must be provided for device declarations")
    for t in (*one.args, one.return_type):
        _check_type(name, t, t is one.return_type)
    return DeclaredFunction(name, one, as_links(link), abi, bool(use_cooperative))


def _check_type(name: str, t: Type, is_result: bool) -> None:
    said = str(t)
    if is_result and said == "none":
        return
    plain = t.dtype if t.layout is not None and not is_result else t
    if not re.fullmatch(r"bool(ean)?|u?int(8|16|32|64)|float(32|64)", str(plain)):
        raise TypeError(
            f"declare_device: {name}() cannot have {said}: C's numbers, and pointers to them, are taken"
        )


# --- what a back end takes ---


def prepare(
    links: list[LinkableCode], functions: list[DeclaredFunction], device: str | None
) -> tuple[str, tuple[tuple[str, bytes], ...], tuple[tuple[str, bytes], ...], tuple[int, ...], bool]:
    """Called by the snapshot: what is to be linked, as bitcode, PTX and addresses.

    Parameters
    ----------
    links : list of LinkableCode
    functions : list of DeclaredFunction
    device : str or None
        For which GPU; None: the host.

    Returns
    -------
    str
        What was given, for messages.
    tuple of (str, bytes)
        Bitcode.
    tuple of (str, bytes)
        PTX, for a GPU.
    tuple of int
        For each function its address, or 0.
    bool
        Whether some of it asks for the place of a thread, which the host's code then says before each call.
    """
    codes: list[tuple[str, bytes]] = []
    texts: list[tuple[str, bytes]] = []
    libraries: list[ctypes.CDLL] = []
    for link in links:
        if isinstance(link, Bitcode):
            codes.append((link.name, link.data))
        elif isinstance(link, CUSource):
            made = _compile(link, device)
            if isinstance(made, bytes):
                codes.append((link.name, made))
            else:
                libraries.append(_opened(made))
        elif device is None:
            host = _for_host(link)
            if isinstance(host, bytes):
                codes.append((link.name, host))
            else:
                libraries.append(_opened(host))
        elif isinstance(link, PTXSource):
            _check_target(link, device)
            for f in functions:
                _check_ptx(link, f)
            texts.append((link.name, link.data.rstrip(b"\0")))
        else:
            raise UnsupportedError(
                f"{link.name}: kernels of a GPU are linked to .bc, .cu and .ptx files; of .{link.kind} ones give the source"
            )
    where = tuple(_address(libraries, f.name) for f in functions)
    asks = device is None and any(b"tr_rt_placed" in code for _, code in codes)  # names are plain in bitcode
    asks = sum(map(_told_where, libraries)) > 0 or asks
    return ", ".join(link.name for link in links), tuple(codes), tuple(texts), where, asks


def _told_where(library: ctypes.CDLL) -> bool:
    """Whether a library asks for the place of a thread: then it is told of whom."""
    try:
        placed = ctypes.c_void_p.in_dll(library, "treadle_placed")
    except ValueError:
        return False
    placed.value = _core._placed
    return True


def _check_target(link: LinkableCode, device: str) -> None:
    """LinkerError: the text is for newer GPUs than that one."""
    made, has = re.search(rb"\.target\s+sm_(\d+)", link.data), re.search(r"sm_(\d+)", device)
    if made and has and int(made[1]) > int(has[1]):
        raise LinkerError(f"{link.name} is made for sm_{int(made[1])}, and the GPU is sm_{has[1]}")


def _check_ptx(link: LinkableCode, f: DeclaredFunction) -> None:
    """LinkerError: the text defines the function with other parameters than those declared."""
    text = link.data.decode(errors="replace")
    found = re.search(rf"\.func\s*(\([^)]*\))?\s*{re.escape(f.name)}\s*\(([^)]*)\)", text)
    if not found:
        return
    _, numba, ret, types, pointers, _ = f.__treadle_extern__

    def width(t: Type, is_pointer: bool = False) -> int:
        return 64 if is_pointer else max(32, t.bitwidth)

    want = [64] * numba + [width(t, p) for t, p in zip(types, pointers)]
    result = [32] if numba else [] if ret is None else [width(ret)]
    has = [[max(32, int(n)) for n in re.findall(r"\.[bsuf](\d+)\s", part or "")] for part in found.groups()]
    if has != [result, want]:
        raise LinkerError(
            f"{f.name}() has parameters of {has[1]} bits and a result of {has[0]} in {link.name}, and was declared with {want} and {result}"
        )


@functools.lru_cache(maxsize=None)  # code that was compiled may run at any time: none is closed
def _opened(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as why:
        raise LinkerError(f"link: {path} cannot be opened: {why}") from None


def _address(libraries: list[ctypes.CDLL], name: str) -> int:
    for library in libraries:
        try:
            found = getattr(library, name)
        except AttributeError:
            continue
        return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0


def _for_host(link: LinkableCode) -> bytes | str:
    """Bitcode or the path of a shared library. Of a GPU's code it is the CUDA C that lies beside it, which a warning says."""
    if isinstance(link, _Library):
        return os.fsdecode(link.data)
    of_gpu = b".nv_fatbin" in link.data or b"__nv_relfatbin" in link.data
    if not isinstance(link, (Object, Archive)) or of_gpu or link.data[18:20] == b"\xbe\x00":
        if link._source is None:
            raise UnsupportedError(f"{link.name} {_OF_GPU}")
        warnings.warn(
            f"{link.name} is a GPU's: on the emulated device {link._source} is compiled in its place",
            stacklevel=2,
        )
        source = _of_path(link._source)
        assert isinstance(source, CUSource)
        return _compile(source, None)
    compiler = _host_compiler()
    if compiler is None:
        raise UnsupportedError(f"{link.name}: a C compiler is needed to link it (CC, cc, gcc); there is none")

    def make(source: str, out: str) -> list[str]:
        whole = ["-Wl,--whole-archive", source, "-Wl,--no-whole-archive"] if link.kind == "a" else [source]
        return [*compiler, "-shared", "-o", out, *whole, "-lm"]

    return _made(link.data, link.name, link.kind, "so", make, compiler)


# --- compilers ---

_NO_CLANG = "clang{} is needed to compile CUDA C, and there is none; TREADLE_CLANG says where one is"


def _words_of(link: CUSource) -> list[str]:
    # a header that is included by option comes before its file's own place is known, which messages are about
    words = ["-O2", "-I", os.path.dirname(_HEADER), "-include", _HEADER, *link.options]
    return [*words, "-I", link.folder] if link.folder else words


def _compile(link: CUSource, device: str | None) -> bytes | str:
    """Bitcode of CUDA C, or (host only, without clang) the path of a shared library of it."""
    clang = _clang()
    if clang is None:
        compiler = _host_compiler(cxx=True) if device is None else None
        if compiler is None:
            more = "" if device else " or another C++ compiler (CXX, c++, g++)"
            raise UnsupportedError(f"{link.name}: {_NO_CLANG.format(more)}")

        words = ["-x", "c++", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", *_words_of(link)]

        def shared(source: str, out: str) -> list[str]:
            return [*compiler, *words, "-o", out, source, "-lm"]

        return _made(link.data, link.name, "cu", "so", shared, (*compiler, *words))
    with open(_by_clang(link, clang, device, "bc"), "rb") as f:
        return f.read()


def _by_clang(link: CUSource, clang: list[str], device: str | None, made: str, arch: str = "sm_70") -> str:
    """The path of what clang makes of CUDA C: bitcode (``bc``), or PTX (``ptx``) for a processor."""
    if device is None:
        words = ["-x", "c++", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-ffp-contract=off"]
    else:
        words = ["-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={arch}", "-nocudainc", "-nocudalib"]
        words += ["-Wno-unknown-cuda-version", "-Wno-unused-command-line-argument"]
    words += ["-std=c++17", *_words_of(link), "-fno-stack-protector"]
    words += ["-S"] if made == "ptx" else ["-emit-llvm", "-c"]

    def command(source: str, out: str) -> list[str]:
        return [*clang, *words, "-o", out, source]

    return _made(link.data, link.name, "cu", made, command, (*clang, *words))


def ptx_of(link: CUSource, cc: tuple[int, int]) -> bytes:
    """PTX of CUDA C, for GPUs of a compute capability.

    Raises
    ------
    LinkerError
        The source does not compile.
    UnsupportedError
        There is no clang.
    """
    clang = _clang()
    if clang is None:
        raise UnsupportedError(f"{link.name}: {_NO_CLANG.format('')}")
    with open(_by_clang(link, clang, "gpu", "ptx", "sm_{}{}".format(*cc)), "rb") as f:
        return f.read()


@functools.lru_cache(maxsize=None)
def _version(compiler: str) -> str:
    try:
        run = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return run.stdout if run.returncode == 0 else ""


def _llvm_major() -> int:
    return int(re.findall(r"\d+", str(_core._about()["llvm"] or "0"))[0])


def _clang() -> list[str] | None:
    """The command of a clang whose bitcode this LLVM reads."""
    most = _llvm_major()
    said = config.CLANG
    if said == "none":
        return None
    if said:
        words = shlex.split(said)
        if not shutil.which(words[0]):
            raise RuntimeError(f"TREADLE_CLANG: there is no {words[0]}")
        return words
    for name in (
        *(f"clang++-{n}" for n in range(most, 13, -1)),
        "clang++",
        *(f"clang-{n}" for n in range(most, 13, -1)),
        "clang",
    ):
        path = shutil.which(name)
        if not path:
            continue
        found = re.search(r"clang version (\d+)", _version(path))
        if found and int(found[1]) <= most:
            return [path]
    return None


def _host_compiler(cxx: bool = False) -> list[str] | None:
    said = os.environ.get("CXX" if cxx else "CC", "").strip()
    for name in (said, *(("c++", "g++") if cxx else ("cc", "gcc", "clang"))):
        words = shlex.split(name)
        path = shutil.which(words[0]) if words else None
        if path:
            return [path, *words[1:]]
    return None


def _folder() -> str:
    """Where what compilers make is kept: beside the cache, or in a folder of this process's."""
    about = _core._about()
    if about["cache"] and not about["no_cache"]:
        path = os.path.join(about["cache"], "linked")
        try:
            os.makedirs(path, exist_ok=True)
            return path
        except OSError:
            pass
    return _own_folder().name


@functools.lru_cache(maxsize=None)  # it goes with the process
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="treadle-link-")


def _quoted(name: str) -> bytes:
    """A name as C has it between quotes, on one line."""
    said = name.replace("\\", "\\\\").replace('"', '\\"')
    return " ".join(said.splitlines()).encode(errors="replace")


def _made(
    data: bytes,
    name: str,
    kind: str,
    made: str,
    command: Callable[[str, str], list[str]],
    how: Sequence[str],
) -> str:
    """The path of what a compiler makes of the data, made unless it is there: by its content, the compiler, its words, our header."""
    h = hashlib.sha256(data)
    with open(_HEADER, "rb") as f:
        h.update(f.read())
    h.update(repr((name, kind, tuple(how), _version(how[0]), _core._about()["llvm"])).encode())
    folder = _folder()
    path = os.path.join(folder, f"{h.hexdigest()[:32]}.{made}")
    # a file that includes others is compiled anew: nothing here tells whether those are the same
    includes = re.search(rb'(?m)^\s*#\s*include\s*"', data)
    if os.path.exists(path) and not includes:
        return path
    with tempfile.TemporaryDirectory(dir=folder) as here:
        source = os.path.join(here, f"source.{kind}")
        out = os.path.join(here, f"out.{made}")
        with open(source, "wb") as f:
            f.write(b'#line 1 "%s"\n' % _quoted(name) + data if kind == "cu" else data)
        run = subprocess.run(command(source, out), capture_output=True, text=True)
        if run.returncode:
            raise LinkerError(f"{name} cannot be compiled:\n{run.stderr.strip()}")
        if run.stderr.strip():
            warnings.warn(f"{name}: {run.stderr.strip()}", stacklevel=2)
        if includes:  # what is loaded already is not what is made now
            with open(out, "rb") as f:
                h.update(f.read())
            path = os.path.join(folder, f"{h.hexdigest()[:32]}.{made}")
        os.replace(out, path)
    return path
