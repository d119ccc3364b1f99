"""Sphinx's settings for the site; make.py writes the pages that it reads, and says how it is called."""

from __future__ import annotations

from typing import Any

import treadle
from docutils import nodes
from pygments.lexers import Python3Lexer
from sphinx import addnodes

project = "Treadle"
author = "The Treadle developers"
copyright = f"2026, {author}"
version = release = treadle.__version__

extensions = ["myst_parser", "sphinx.ext.napoleon"]
root_doc = "index"
# The anchors of headings are those of a forge.
myst_heading_anchors = 6
# `name` in a docstring is something of ours, and must be there; what is NumPy's or Python's own in types is
# not looked up.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:(class|exc|data)", r"(?!treadle\.).*"), ("py:obj", r"numpy\..*")]

html_theme = "furo"
html_title = f"Treadle {version}"
html_static_path = ["style.css", "search.js"]
html_css_files = ["style.css"]
html_js_files = ["search.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "default", "github-dark"
highlight_language = "text"
python_maximum_signature_line_length = 90
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"


def _by_whole_names(app: Any, doctree: nodes.document) -> None:
    """A type in a docstring's fields is the one of that name in its module, not one whose name ends so."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("refdomain") == "py" and node.get("reftype") in ("class", "exc", "data"):
            node.attributes.pop("refspecific", None)
            if node["reftarget"] == "bool":
                node.replace_self(node.children)


def setup(app: Any) -> None:
    app.connect("doctree-read", _by_whole_names)
    app.add_lexer("ipython", Python3Lexer)
