"""Check the links of a built site: `python tests/site_links.py FOLDER`.

Every link to a page, a picture or a place on a page must lead somewhere. Links to other sites must
be https; they are not followed. What a page loads must be a file of the site, which is read without
a network. The exit code is 1 if a link is broken.
"""

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, which of them load something into it, and its named places."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: set[str] = set()
        self.places: set[str] = set()
        text = file.read_text(encoding="utf-8")
        self.feed(text)
        elsewhere = re.findall(r'script\.src = "(https:[^"]+)"', text)  # figures of notebooks
        self.links += elsewhere
        self.loaded.update(elsewhere)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
                if name == "src" or dict(attrs).get("rel") in ("stylesheet", "preload"):
                    self.loaded.add(value)
            if name in ("id", "name") and value:
                self.places.add(value)


@cache
def page(file: Path) -> Page:
    """Read a page once."""
    return Page(file)


def fault(root: Path, file: Path, link: str) -> str:
    """Return what is wrong with a link of a page; empty if nothing is."""
    parts = urlsplit(link)
    if parts.scheme in ("data", "mailto", "javascript"):
        return ""
    if parts.scheme or parts.netloc:
        if link in page(file).loaded:
            return "loaded from another site"
        return "" if parts.scheme == "https" else "not https"
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_relative_to(root):
        return "outside the site"
    if not target.is_file():
        return "no such file"
    place = unquote(parts.fragment)
    if place and target.suffix == ".html" and place not in page(target).places:
        return "no such place on the page"
    return ""


def main(folder: str) -> int:
    """Print the broken links of a site, without the theme's files; return the exit code."""
    root = Path(folder).resolve()
    files = [file for file in sorted(root.rglob("*.html")) if "_static" not in file.parts]
    broken = [
        f"{file.relative_to(root)}: {link}: {wrong}"
        for file in files
        for link in dict.fromkeys(page(file).links)
        if (wrong := fault(root, file, link))
    ]
    print(*broken, f"{len(files)} pages, {len(broken)} broken links", sep="\n")
    return int(bool(broken) or not files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
