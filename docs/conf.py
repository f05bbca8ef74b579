"""The documentation site: `make docs` builds it into docs/build, to be opened from there."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

import rbgym

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "extensions"))

project = author = "rbgym"
copyright = "the authors of rbgym"
version = release = rbgym.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_external_toc",
    "mathml",
    "plain_docstrings",
]
external_toc_path = "toc.yml"
external_toc_exclude_missing = False
exclude_patterns = ["build", "equations", "examples", "studies"]

# Markdown as GitHub reads it: anchors of headings, and equations in $...$ and blocks of `math`.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

smartquotes = False  # there is code in sentences

html_theme = "furo"
html_title = f"rbgym {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_show_search_summary = False  # it fetches pages, which browsers refuse to files

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

# Pages without a place in the navigation: records of measurements, and long lists.
OUTSIDE = "records/", "cards", "licences"


def leave_outside(app: Sphinx, doctree: nodes.document) -> None:
    """Say of a page that no list of contents has to name it."""
    if app.env.docname.startswith(OUTSIDE):
        app.env.metadata[app.env.docname]["orphan"] = "yes"


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("doctree-read", leave_outside)
