"""The reference: a page for each group of public names, from their docstrings and the stubs' signatures.

What is public is what `__all__` of a module says; in which group a name of `treadle` and `treadle.cuda`
stands is decided by the module that it comes from (`_WHERE` in their `__init__.py`). Sphinx's own autodoc
would import names and read signatures from the objects, of which those of the extension module have none and
decorators the poorer ones; here both are read from the text of stubs and sources, which is what type checkers
see.

Docstrings stay as they are: napoleon makes reStructuredText of NumPy's style. Each page is a text, so that
tests can ask what is in it.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import treadle

PACKAGE = Path(treadle.__file__).parent
# The modules inside treadle that have a page of their own, and what it is called. Those inside treadle.cuda,
# it names itself.
MODULES = {
    "types": "treadle.types: types by name",
    "typed": "treadle.typed: lists that Python and compiled code share",
    "errors": "treadle.errors: exceptions and warnings",
    "config": "treadle.config: settings",
}
# What classes have that is called without its name, and worth a line where a docstring says something of its
# own.
SPECIAL = ("__call__", "__getitem__", "__setitem__")
# A docstring's section of attributes, up to another one or the end.
ATTRIBUTES = re.compile(r"Attributes\n-+\n(.*?)(?=\n\n\S+\n-+\n|\Z)", re.S)


# --- what the text of stubs and sources says ----------------------------------------------------------------


@functools.cache
def definitions(module: str) -> dict[str, list[ast.AST]]:
    """All definitions of a module by their qualified names: those of its stub, then those of its source."""
    base = PACKAGE.joinpath(*module.split(".")[1:])
    found: dict[str, list[ast.AST]] = {}
    for path in (
        *(base / f"__init__{s}" for s in (".pyi", ".py")),
        base.with_suffix(".pyi"),
        base.with_suffix(".py"),
    ):
        if path.is_file():
            for name, nodes in _within(ast.parse(path.read_text()).body).items():
                found.setdefault(name, nodes)
    return found


def _within(body: list[ast.stmt], prefix: str = "") -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for node, after in zip(body, [*body[1:], None]):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(prefix + node.name, []).append(node)
            if isinstance(node, ast.ClassDef):
                for name, nodes in _within(node.body, f"{prefix}{node.name}.").items():
                    found.setdefault(name, []).extend(nodes)
        elif isinstance(node, ast.If):
            for name, nodes in _within([*node.body, *node.orelse], prefix).items():
                found.setdefault(name, []).extend(nodes)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for t in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(t, ast.Name):
                    # A string behind an assignment says what the name is.
                    said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                    found.setdefault(prefix + t.id, []).append(ast.Tuple([node, after]) if said else node)
    return found


def _defined(modules: tuple[str, ...], name: str) -> list[ast.AST]:
    return next((d for m in modules if (d := definitions(m).get(name))), [])


def _text(node: ast.expr | None) -> str:
    """An annotation, but for one that says nothing."""
    text = re.sub(r"(?<![\w.])_\w+\.", "", ast.unparse(node)) if node else ""
    return "" if text in ("Any", "object") else text


def _arguments(node: ast.FunctionDef, bound: bool) -> str:
    a = copy.deepcopy(node.args)
    if bound and not any(ast.unparse(d) == "staticmethod" for d in node.decorator_list):
        del (a.posonlyargs or a.args)[0]
    for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))):
        text = _text(arg.annotation)
        arg.annotation = ast.parse(text, mode="eval").body if text else None
    result = _text(node.returns)
    return f"({ast.unparse(a)})" + (f" -> {result}" if result and node.name != "__init__" else "")


def signatures(obj: Any, modules: tuple[str, ...], name: str, bound: bool = False) -> list[str]:
    """The signatures of a function, one for each overload; where no text has one, that of the object."""
    nodes = [d for d in _defined(modules, name) if isinstance(d, ast.FunctionDef)]
    overloads = [d for d in nodes if any(ast.unparse(x).endswith("overload") for x in d.decorator_list)]
    if nodes:
        return [_arguments(d, bound) for d in overloads or nodes[-1:]]
    try:
        s = inspect.signature(obj)
    except (TypeError, ValueError):
        return [getattr(obj, "__text_signature__", None) or "()"]
    kept = [
        p.replace(annotation=p.empty) if p.annotation in (Any, "Any") else p
        for p in s.parameters.values()
        if not (bound and p.name == "self")
    ]
    return [str(s.replace(parameters=kept, return_annotation=s.empty))]


def doc(obj: Any, modules: tuple[str, ...] = (), name: str = "") -> str:
    """The docstring of a function, class or module; of data the string that stands behind the assignment."""
    for node in _defined(modules, name) if name else ():
        if isinstance(node, ast.Tuple):
            return inspect.cleandoc(node.elts[1].value.value)
    if name and not (callable(obj) or isinstance(obj, types.ModuleType)):
        if type(obj).__module__ == "builtins":
            return ""
    own = obj.__dict__.get("__doc__") if isinstance(obj, type) else getattr(obj, "__doc__", None)
    return inspect.cleandoc(own) if isinstance(own, str) else ""


# --- pages --------------------------------------------------------------------------------------------------

Napoleon = Callable[[str, str, str], list[str]]
"""Makes reStructuredText of a docstring: of the text, what it belongs to ('function', ...) and its name."""


def plain(text: str, what: str, name: str) -> list[str]:
    """A docstring as it is."""
    return text.splitlines()


def _indent(lines: list[str] | Iterator[str]) -> list[str]:
    return [f"   {line}" if line else "" for line in lines]


def _title(text: str, under: str = "=") -> list[str]:
    return [text, under * len(text), ""]


class Reference:
    """The pages, by where they lie, and what they were made of."""

    def __init__(self, napoleon: Napoleon = plain) -> None:
        self.napoleon = napoleon
        self.pages: dict[str, str] = {}
        # All public names that have an entry, or stand for one; where functions and classes have theirs; and
        # the docstrings.
        self.names: set[str] = set()
        self.known: dict[int, str] = {}
        self.texts: dict[str, str] = {}

    def entry(
        self, kind: str, heads: list[str], text: str, name: str, inner: tuple[str, ...] = ()
    ) -> list[str]:
        """A directive with a docstring."""
        self.names.add(name)
        self.texts[name] = text
        # Of data napoleon would read what stands before a colon as a type.
        what = kind if kind in ("function", "method", "class", "exception") else "module"
        first, *more = heads
        body = self.napoleon(text, what, name)
        return [
            f".. py:{kind}:: {first}",
            *(f"               {h}" for h in more),
            "",
            *_indent([*body, "", *inner]),
            "",
        ]

    def member(self, module: str, name: str, obj: Any, home: str = "") -> list[str]:
        """The entry of a module's member."""
        modules = tuple(
            dict.fromkeys(m for m in (module, home, getattr(obj, "__module__", None) or module) if m)
        )
        if isinstance(obj, type):
            return self.cls(module, name, obj, modules)
        full = self.known[id(obj)] = f"{module}.{name}"
        if isinstance(obj, treadle.Function):
            obj = obj.py_func
        if isinstance(obj, (types.FunctionType, types.BuiltinFunctionType)):
            heads = [name + s for s in signatures(obj, modules, obj.__name__)]
            return self.entry("function", heads, doc(obj), full)
        return self.entry("data", [name], doc(obj, modules, name), full)

    def cls(self, module: str, name: str, cls: type, modules: tuple[str, ...]) -> list[str]:
        """The entry of a class with its public members, those of private bases among them."""
        self.known[id(cls)] = f"{module}.{name}"
        bases = [
            b
            for b in cls.__mro__
            if b is cls or b.__module__.startswith("treadle") and id(b) not in self.known
        ]
        texts = [doc(b) for b in bases]
        sections = [s[1].rstrip() for t in texts if (s := ATTRIBUTES.search(t))]
        text = ATTRIBUTES.sub("", texts[0])
        if sections:
            text = f"{text.rstrip()}\n\nAttributes\n----------\n" + "\n".join(sections)
        seen = set(re.findall(r"\w+", " ".join(re.findall(r"(?m)^\w[^:\n]*", "\n".join(sections)))))
        head = name
        if "Parameters\n---" in text:
            head += signatures(cls.__init__, modules, f"{cls.__name__}.__init__", bound=True)[0]
        inner: list[str] = []
        for base in bases:
            own = tuple(dict.fromkeys((*modules, base.__module__)))
            for key, value in vars(base).items():
                if (key in SPECIAL or not key.startswith("_")) and key not in seen:
                    seen.add(key)
                    inner += self.attribute(f"{module}.{name}.{key}", key, value, base, own)
        kind = "exception" if issubclass(cls, BaseException) else "class"
        return self.entry(kind, [head], text, f"{module}.{name}", tuple(inner))

    def attribute(self, full: str, key: str, value: Any, base: type, modules: tuple[str, ...]) -> list[str]:
        """The entry of a class's member."""
        qualified = f"{base.__name__}.{key}"
        how = ["   :classmethod:"] if isinstance(value, classmethod) else []
        how = ["   :staticmethod:"] if isinstance(value, staticmethod) else how
        plain_one = getattr(value, "__func__", value)
        if isinstance(plain_one, (types.FunctionType, types.MethodDescriptorType)):
            text = doc(plain_one)
            if key in SPECIAL and not text:
                return []
            heads = [key + s for s in signatures(plain_one, modules, qualified, bound=True)]
            lines = self.entry("method", heads, text, full)
            at = lines.index("")
            return [*lines[:at], *how, *lines[at:]]
        text = doc(value)
        if key in SPECIAL or (isinstance(value, types.WrapperDescriptorType)):
            return []
        kind = "property" if isinstance(value, (property, functools.cached_property)) else "attribute"
        type_ = ""
        for node in _defined(modules, qualified):
            node = node.elts[0] if isinstance(node, ast.Tuple) else node
            type_ = _text(
                node.returns if isinstance(node, ast.FunctionDef) else getattr(node, "annotation", None)
            )
        if isinstance(value, functools.cached_property):
            text = doc(value.func)
        lines = self.entry(
            kind, [key], text if type(value).__module__ in ("builtins", "functools") else "", full
        )
        return [lines[0], *([f"   :type: {type_}"] if type_ else []), *lines[1:]]

    def module(
        self, name: str, module: Any, title: str, under: str = "=", apart: tuple[str, ...] = ()
    ) -> list[str]:
        """A module as a whole: what it says of itself, then its members, but for some."""
        text = doc(module)
        lines = [
            *_title(title, under),
            f".. py:module:: {name}",
            "",
            *self.napoleon(text, "module", name),
            "",
        ]
        self.names.add(name)
        self.texts[name] = text
        said = set(re.findall(r"(?m)^(\w+) : ", text))
        self.names |= {f"{name}.{s}" for s in said}
        members = {k: v for k in public(module) if not isinstance(v := getattr(module, k), types.ModuleType)}
        again = {k: self.known[id(v)] for k, v in members.items() if id(v) in self.known}
        if again:
            lines += [f"Here, too: {', '.join(f':py:obj:`{full}`' for full in again.values())}.", ""]
            self.names |= {f"{name}.{k}" for k in again}
        for key, value in members.items():
            if key not in said and key not in again and key not in apart:
                lines += self.member(name, key, value)
        return lines

    def page(self, name: str, lines: list[str]) -> None:
        self.pages[f"api/{name}"] = "\n".join(lines) + "\n"


def public(module: Any) -> list[str]:
    """The names that a module gives to users."""
    listed = getattr(module, "__all__", None)
    return list(listed) if listed is not None else [k for k in vars(module) if not k.startswith("_")]


def _grouped(module: Any) -> dict[str, list[str]]:
    """The public names of a module by the module that they come from; "" for its own."""
    groups: dict[str, list[str]] = {}
    for name in public(module):
        if not isinstance(getattr(module, name), types.ModuleType):
            groups.setdefault(module._WHERE.get(name, ""), []).append(name)
    return groups


def _called(module: Any) -> str:
    """What a module says that it is, as a title: its first line up to where that goes into detail."""
    return re.split(r"[:;.](?: |$)", doc(module).splitlines()[0])[0]


def _numbers(module: Any) -> dict[int, list[str]]:
    """The types that have names, by what they are."""
    names: dict[int, list[str]] = {}
    for name in public(module):
        if isinstance(value := getattr(module, name), treadle.Type):
            names.setdefault(id(value), []).append(name)
    return names


def _about(t: Any) -> str:
    """What a scalar type holds, in a sentence."""
    if t.name in ("none", "void"):
        return "The type of None; as a return type, of a function that returns nothing."
    if t.name == "str":
        return "Strings, of any length and characters."
    if t.name == "bytes":
        return "Bytes objects, of any length."
    kind = np.dtype(t.name if t.name != "bool" else "bool")
    if kind.kind == "b":
        return "True or False, in a byte."
    if kind.kind in "iu":
        i = np.iinfo(kind)
        return f"Integers of {t.bitwidth} bits, {i.min:,} to {i.max:,}; they wrap."
    if kind.kind == "f":
        f = np.finfo(kind)
        return f"Floats of {t.bitwidth} bits: {f.precision} decimal digits, up to {float(f.max):.2g}."
    return f"Complex numbers: two floats of {t.bitwidth // 2} bits."


def make(napoleon: Napoleon = plain) -> Reference:
    """Make all pages."""
    r = Reference(napoleon)
    top = importlib.import_module("treadle")
    groups = _grouped(top)
    lines = [*_title("treadle"), ".. py:module:: treadle", "", *napoleon(doc(top), "module", "treadle"), ""]
    r.names.add("treadle")
    functions = [n for n in top._WHERE if n in public(top) and not isinstance(getattr(top, n), type)]
    made = [n for n in functions if top._WHERE[n] != "_core"]
    others = [n for n in functions if n not in made]
    classes = [
        n for g, names in groups.items() if g != "errors" for n in names if isinstance(getattr(top, n), type)
    ]
    for title, names in (
        ("Decorators, and what goes with them", made),
        ("Loops, threads, memory and types", others),
        ("Classes", classes),
    ):
        lines += _title(title, "-")
        for name in names:
            lines += r.member("treadle", name, getattr(top, name), f"treadle.{top._WHERE[name]}")
    r.page("treadle", lines)
    numbers = _numbers(top.types).values()
    for name, title in MODULES.items():
        apart = tuple(n for group in numbers for n in group) if name == "types" else ()
        lines = r.module(f"treadle.{name}", getattr(top, name), title, apart=apart)
        if apart:
            lines += [
                *_title("Numbers, and what else has no items", "-"),
                "Names in one entry are one type.",
                "",
            ]
            for group in numbers:
                lines += r.entry(
                    "data", group, _about(getattr(top.types, group[0])), f"treadle.types.{group[0]}"
                )
            r.names |= {f"treadle.types.{n}" for n in apart}
        r.page(name, lines)
    r.names |= {f"treadle.{n}" for n in groups.get("errors", ()) if f"treadle.errors.{n}" in r.names}
    r.names |= {f"treadle.{n.rpartition('.')[2]}" for n in r.names if n.startswith("treadle.types.")}
    names = ["treadle", *MODULES, *_parallel(r), *_cuda(r)]
    index = [
        *_title("API reference"),
        "What can be imported, from its docstrings; signatures are those that type checkers see.",
        "",
    ]
    index += [".. toctree::", "   :maxdepth: 1", "", *(f"   {n}" for n in names), ""]
    r.page("index", index)
    return r


# A name in single quotes that no module says: a parameter, mostly.
_LONE = re.compile(r"(?<![`:\w])`([A-Za-z_]\w*)`(?![`_])")


def _parallel(r: Reference) -> list[str]:
    """The page of treadle.parallel: its functions; operators are NumPy's, and said to be."""
    module = importlib.import_module("treadle.parallel")
    lines = [
        *_title("treadle.parallel: primitives"),
        ".. py:module:: treadle.parallel",
        "",
        *r.napoleon(doc(module), "module", "treadle.parallel"),
        "",
    ]
    r.names.add("treadle.parallel")
    operators = [n for n in public(module) if isinstance(getattr(module, n), np.ufunc)]
    lines += [f"Operators, which are NumPy's: {', '.join(f'``{n}``' for n in operators)}.", ""]
    r.names |= {f"treadle.parallel.{n}" for n in operators}
    for name in public(module):
        value = getattr(module, name)
        if name not in operators:
            lines += r.member("treadle.parallel", name, value, value.__module__)
    known = {n for n in public(module) if n not in operators}
    lines = [_LONE.sub(lambda m: m[0] if m[1] in known else f"``{m[1]}``", line) for line in lines]
    r.page("parallel", lines)
    return ["parallel"]


def _cuda(r: Reference) -> list[str]:
    """The pages of treadle.cuda: what kernels call, what the host calls, and the modules inside."""
    cuda = importlib.import_module("treadle.cuda")
    groups = _grouped(cuda)
    inside = {n: m for n in public(cuda) if isinstance(m := getattr(cuda, n), types.ModuleType)}
    own = {n: m for n, m in inside.items() if n not in cuda._MODULES and not getattr(m, "__file__", None)}
    lines = [
        *_title("treadle.cuda: in kernels"),
        ".. py:module:: treadle.cuda",
        "",
        *r.napoleon(doc(cuda), "module", "treadle.cuda"),
        "",
    ]
    r.names.add("treadle.cuda")
    for name in sorted(groups.pop(""), key=str.lower):
        lines += r.member("treadle.cuda", name, getattr(cuda, name))
    for name, module in sorted(own.items()):
        lines += r.module(f"treadle.cuda.{name}", module, f"cuda.{name}", "-")
    r.page("cuda", lines)
    pages = ["cuda"]
    lines = [*_title("treadle.cuda: on the host"), ".. py:currentmodule:: treadle.cuda", ""]
    for home, names in groups.items():
        if home.startswith("_"):
            module = importlib.import_module(f"treadle.cuda.{home}")
            lines += [*_title(_called(module), "-")]
            for name in sorted(names, key=str.lower):
                lines += r.member("treadle.cuda", name, getattr(cuda, name), f"treadle.cuda.{home}")
    r.page("cuda_host", lines)
    pages.append("cuda_host")
    for name, module in sorted(inside.items()):
        if name not in own:
            full = module.__name__
            lines = r.module(full, module, full)
            for sub in public(module):
                if isinstance(m := getattr(module, sub), types.ModuleType):
                    lines += r.module(m.__name__, m, m.__name__, "-")
            if name in cuda._MODULES:
                r.page(f"cuda_{name}", lines)
                pages.append(f"cuda_{name}")
            r.names.add(f"treadle.cuda.{name}")
    r.names |= {f"treadle.cuda.{n}" for g, names in groups.items() if not g.startswith("_") for n in names}
    return pages
