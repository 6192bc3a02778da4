"""Sphinx builds the site from this file: `make site`.

The source folder is the repository, so the links between pages, notebooks and source files are the
same on the site and in the repository. A link to a file that is no page leads to a page with that
file, made here; `#L12` after it is a line, `#eq_7` the line that builds these rows of a program.
"""

import html
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import plotly
from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

from schedgap.analysis.pages.equations import write_equations
from schedgap.analysis.pages.listing import models

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "schedgap"
author = copyright = "The schedgap developers"
root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/*.ipynb", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = ["site", ".venv", "build", "runs", "**/.ipynb_checkpoints"]
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "sphinx-mathjax-offline",
]

myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = {"http": None, "https": None, "mailto": None, "source": None}
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "site" / "executed")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
# A slider needs a kernel. Without its scripts, pages keep the table and the picture.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
suppress_warnings = ["mystnb.unknown_mime_type"]  # Plotly's data, which come with a picture

default_role = "code"
highlight_language = "text"  # of blocks that name none: commands and what they print
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "schedgap"
html_additional_pages = {"index": "redirect.html"}
html_show_sourcelink = False
html_context = {"repository": PROJECT.get("urls", {}).get("Repository", "")}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"docs/how-do-i": [], "docs/glossary": []}  # they have no pages below them
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc", "download-notebook.html"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
html_extra_path = [str(PLOTLY)]  # the figures of notebooks are drawn without a network
REPORT = ROOT / "runs" / "quick" / "report.html"  # by `make compare`
if REPORT.exists():
    html_extra_path.append(str(REPORT))
    html_theme_options["navbar_end"] = ["report-link.html", "theme-switcher"]

LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
PLOTLY_ELSEWHERE = re.compile(r"https://cdn\.plot\.ly/plotly-[\d.]+\.min\.js")
PICTURES = (".png", ".svg")
MOST_BYTES = 400_000  # of a file that becomes a page; a longer one is cut off
_shown: dict[str, None] = {}


def read_source(app: Any, docname: str, source: list[str]) -> None:
    """Mark the links of a page to files of the repository that are no pages."""
    here = Path(app.env.doc2path(docname)).parent

    def marked(found: re.Match[str]) -> str:
        path = (here / found[1]).resolve()
        if not path.exists() or not path.is_relative_to(ROOT):
            return found[0]
        name = path.relative_to(ROOT).as_posix()
        if Path(name).with_suffix("").as_posix() in app.env.found_docs:
            return found[0]
        if path.suffix in PICTURES:
            return found[0]
        if name == "notebooks":
            return f"]({'../' * docname.count('/')}docs/notebooks.md)"
        return f"](source:{name}{found[2] or ''})"

    source[0] = LINK.sub(marked, source[0])


def resolve_links(app: Any, doctree: nodes.document, docname: str) -> None:
    """Let the marked links lead to the pages of their files."""
    for node in doctree.findall(nodes.reference):
        target = node.get("refuri", "")
        if target.startswith("source:"):
            name, _, place = target.removeprefix("source:").partition("#")
            _shown[name] = None
            line = re.fullmatch(r"L(\d+)", place) or _row(name, place)
            uri = app.builder.get_relative_uri(docname, f"code/{name}")
            node["refuri"] = f"{uri}#L-{line[1]}" if line else uri


def _row(name: str, row: str) -> tuple[str, int] | None:
    """Return the line of a file that builds the rows of this name."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines() if row else []
    word = re.compile(rf"\b{re.escape(row)}\b")
    return next(((row, k) for k, line in enumerate(lines, 1) if word.search(line)), None)


def source_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file that a link leads to."""
    for name in _shown:
        path = ROOT / name
        if path.is_dir():
            inside = sorted(each.relative_to(path).as_posix() for each in path.rglob("*.*"))
            shown = [each for each in inside if "__pycache__" not in each and ".egg" not in each]
            body = "<ul>" + "".join(f"<li><code>{html.escape(e)}</code></li>" for e in shown)
            body += "</ul>"
        else:
            text = path.read_text(encoding="utf-8")[:MOST_BYTES]
            try:
                lexer = get_lexer_for_filename(name)
            except ClassNotFound:
                lexer = TextLexer()
            form = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True)
            body = highlight(text, lexer, form)
        head = f"<h1><code>{html.escape(name)}</code></h1>"
        yield f"code/{name}", {"title": name, "body": head + body}, "page.html"


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return the place of a documented function or class in the source."""
    found: Any = import_module(info["module"])
    for part in info["fullname"].split("."):
        found = getattr(found, part, None)
    found = models if inspect.ismodule(found) else found
    try:
        found = inspect.unwrap(found)
        file = Path(str(inspect.getsourcefile(found)))
        line = inspect.getsourcelines(found)[1]
    except (TypeError, OSError):
        return None
    return f"source:{file.relative_to(ROOT).as_posix()}#L{line}" if ROOT in file.parents else None


def document_models(
    _app: Any, _what: str, name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Document `schedgap.models` as a function; the name is also a package."""
    if name == "schedgap.models":
        lines[:] = (inspect.getdoc(models) or "").split("\n")


def draw_figures_here(
    _app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Let the figures of a page load Plotly from the site."""
    place = context["pathto"](PLOTLY.name, 1)
    context["body"] = PLOTLY_ELSEWHERE.sub(place, context.get("body") or "")


def setup(app: Any) -> None:
    """Connect the functions above, and write the pages that contain line numbers."""
    write_equations(ROOT / "docs" / "papers")
    app.connect("source-read", read_source)
    app.connect("doctree-resolved", resolve_links)
    app.connect("html-collect-pages", source_pages)
    app.connect("html-page-context", draw_figures_here)
    app.connect("autodoc-process-docstring", document_models, priority=100)  # before numpydoc
