"""Read when Python starts in a process that a program under ``python -m treadle run`` begins: it puts the stand-ins for Numba there, too.

`treadle.run` names this folder in ``PYTHONPATH``, so Python imports this module in place of another ``sitecustomize``, which it then
finds and imports itself. Nothing of Treadle is loaded before the process imports ``numba``, ``numbapro`` or ``llvmlite``. Any Python may get
here: one that this Treadle was not built for is left alone.
"""

import os
import sys


class _Finder:
    """Waits for the first import of one of the names, and hands it to `treadle.run`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in ("numba", "numbapro", "llvmlite"):
            return None
        _install()
        sys.meta_path[:] = [f for f in sys.meta_path if f is not _Finder]
        from importlib.util import find_spec

        return find_spec(name)


def _install():
    """Call `treadle.run.install`, of the Treadle that this process finds, else of the one that this file is part of."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    if "treadle" not in sys.modules and find_spec("treadle") is None:
        package = os.path.dirname(_HERE)
        spec = spec_from_file_location("treadle", os.path.join(package, "__init__.py"))
        sys.modules["treadle"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    from treadle.run import install

    install()


def _is_built_for_this_python():
    from importlib.machinery import EXTENSION_SUFFIXES

    package = os.path.dirname(_HERE)
    return any(os.path.exists(os.path.join(package, "_core" + s)) for s in EXTENSION_SUFFIXES)


def _hand_on():
    """Import the sitecustomize that Python would have found without this folder, if there is one."""
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _HERE]
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError as e:
        if e.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", own)


_HERE = os.path.dirname(os.path.abspath(__file__))
if _is_built_for_this_python():
    sys.meta_path.insert(0, _Finder)
_hand_on()
