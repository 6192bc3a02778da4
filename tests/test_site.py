"""The site has every public name and every page, and its links lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import site_links
from jinja2 import Template

import schedgap
from schedgap.analysis.pages.equations import equations_page
from schedgap.instances.families import OWN
from schedgap.models import family

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WRITTEN = DOCS / "papers"  # by `make site`
PAGES = [page for page in DOCS.rglob("*.md") if page.parent != WRITTEN]
PAGES += [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)\s#]*)(?:#[^)\s]*)?\)")


def toctrees(page: Path) -> Iterator[Path]:
    """Yield the pages in the toctrees of a page."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S):
        for line in block.split("\n"):
            if line and not line.startswith(":"):
                path = page.parent / line
                found = [
                    *path.parent.glob(path.name + ".md"),
                    *path.parent.glob(path.name + ".ipynb"),
                ]
                assert found or "*" in line, f"{page.name}: there is no page {line}"
                yield from (each.resolve() for each in found)


def test_every_public_name_is_on_one_page_of_the_interface() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    documented = re.findall(r"^\.\. auto(?:class|data|function):: (\w+)$", text, re.M)
    assert sorted(documented) == sorted(schedgap.__all__)


def test_every_page_can_be_reached_from_the_first() -> None:
    reached: set[Path] = set()
    waiting = [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += toctrees(page) if page.suffix == ".md" else []
    left_out = {*PAGES, *NOTEBOOKS} - reached
    assert not left_out, "add these pages to a toctree, such as that of docs/guide.md"


def test_links_lead_somewhere() -> None:
    broken = []
    for page in [*PAGES, *NOTEBOOKS, ROOT / "README.md"]:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if re.match(r"\w+:", target):
                parts = urlsplit(target)
                if parts.scheme != "https" or "." not in parts.netloc:
                    broken.append((page.name, target))
            elif target and not (page.parent / target).exists():
                broken.append((page.name, target))
    assert not broken


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("b.html#there", ""),
        ("#here", ""),
        ("https://example.org", ""),
        ("b.html#here", "no such place on the page"),
        ("c.html", "no such file"),
        ("../a.html", "outside the site"),
        ("http://example.org", "not https"),
    ],
)
def test_a_broken_link_of_the_built_site_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], link: str, wrong: str
) -> None:
    (tmp_path / "a.html").write_text(f'<p id="here"><a href="{link}">link</a></p>')
    script = '<script>script.src = "https://example.org/a.js";</script>'
    (tmp_path / "b.html").write_text('<p id="there"><img src="data:image/png;base64,"></p>')
    assert site_links.main(str(tmp_path)) == int(bool(wrong))
    said = capsys.readouterr().out
    assert (f"a.html: {link}: {wrong}\n" in said) == bool(wrong)
    for text in (script, '<img src="https://example.org/a.png">'):
        (tmp_path / "c.html").write_text(text)
        assert site_links.main(str(tmp_path)) == 1
        assert "loaded from another site" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("page", "repository", "links"),
    [
        ("docs/index", "https://github.com/owner/name", []),
        ("notebooks/ring", "", ["Download"]),
        ("notebooks/ring", "https://github.com/owner/name", ["Download", "Binder", "Colab"]),
    ],
)
def test_a_notebook_can_be_downloaded_and_opened(
    page: str, repository: str, links: list[str]
) -> None:
    """In Binder and Colab only if pyproject.toml has the address of the repository."""
    text = (DOCS / "_templates" / "download-notebook.html").read_text(encoding="utf-8")
    shown = Template(text).render(
        pagename=page,
        sourcename=f"{page}.ipynb.txt",
        pathto=lambda name, _: f"../{name}",
        repository=repository,
    )
    found = re.findall(r'<a (?:download="ring.ipynb" )?href="([^"]+)">\s*(?:Open in )?(\w+)', shown)
    assert [word for _, word in found] == links
    places = ("../_sources/notebooks/ring", "gh/owner/name/HEAD", "github/owner/name/blob/HEAD/")
    assert all(place in target for place, (target, _) in zip(places, found, strict=False))
    assert all(target.endswith("notebooks/ring.ipynb") for target, _ in found[1:])


@pytest.mark.parametrize("name", OWN)
def test_every_equation_is_stated_above_the_rows_that_model_it(name: str) -> None:
    page = equations_page(name)
    for label, item in family(name).paper.equations.items():
        part = page.partition(f"\n### ({label})\n")[2].partition("\n### ")[0]
        stated = item.tex and item.tex in part
        assert stated or item.note.startswith("not in our copy of the paper"), label
        rows = [row for row in item.by if row.startswith("eq_")]
        shown = re.findall(r"literalinclude} \.\./\.\./(\S+)\n.*\n:lines: (\d+)-(\d+)", part)
        text = "\n".join(
            "\n".join((ROOT / file).read_text(encoding="utf-8").split("\n")[int(a) - 1 : int(b)])
            for file, a, b in shown
        )
        assert all(re.search(rf"\b{row}\b", text) for row in rows), (label, rows)
