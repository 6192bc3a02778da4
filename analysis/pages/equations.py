"""The pages of the site on a paper's equations and algorithms, next to the code that has them.

The site is built from these pages, which are not kept: they contain line numbers.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from schedgap.analysis.pages.families import family_folder, files_of_names
from schedgap.models import family
from schedgap.models.paper import Algorithm, Equation

STATUS = {
    "modelled": "Modelled by",
    "implied": "Implied by",
    "replaced": "Replaced by",
    "checked": "Evaluated by",
    "background": "Background",
}


def equations_page(name: str) -> str:
    """Return the page of a family's equations and algorithms, in Markdown for MyST."""
    paper = family(name).paper
    parts = [
        f"# The equations of `{name}`",
        f"{paper.citation} [doi.org/{paper.doi}](https://doi.org/{paper.doi})",
        f"The numbers are the paper's. The [page of the family](../{name}.md#symbols-and-keys) "
        "explains the symbols and lists the errata (E1, E2, ...). Below each equation stands what "
        "represents it in the source: rows of a program, or a function that evaluates it.",
        "## Equations",
    ]
    rows, functions = files_of_names(name), files_of_names(name, first="algorithms")
    for label, item in paper.equations.items():
        modelled = item.status in ("modelled", "implied", "replaced")
        parts += _equation(name, label, item, rows if modelled else functions)
    parts.append("## Algorithms")
    parts.append(
        "In the source, a comment `# L4` marks line 4 of the printed algorithm, and `# A2 L4` "
        "line 4 of Algorithm 2."
    )
    for label, algorithm in paper.algorithms.items():
        parts += _algorithm(name, label, algorithm, several=len(paper.algorithms) > 1)
    return "\n\n".join(parts) + "\n"


def _equation(name: str, label: str, item: Equation, where: dict[str, str]) -> Iterator[str]:
    yield f"({name}-{label})=\n### ({label})"
    if item.tex:
        yield f"```{{math}}\n{item.tex}\n```"
    by = ", ".join(f"`{word}`" for word in item.by)
    note = item.note
    if not item.by and item.status in ("modelled", "implied"):
        words = f"{item.status.capitalize()}: {note}" if note else item.status.capitalize()
    elif item.status == "background":
        words = f"Background: {note}"
    else:
        words = f"{STATUS[item.status]} {by}" + (f": {note}" if note else "")
    yield words.rstrip(".") + "."
    found = [(where.get(word, ""), *_lines(name, where.get(word, ""), word)) for word in item.by]
    if item.status == "checked":  # a function, which may be long
        yield from dict.fromkeys(_link(name, file, first) for file, first, _ in found if first)
    else:
        for file, first, last in _merged(found):
            yield _source(name, file, first, last)


def _merged(found: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Return the groups of lines with neighbours as one, without places that are unknown."""
    groups: list[tuple[str, int, int]] = []
    for file, first, last in sorted({each for each in found if each[1]}):
        if groups and groups[-1][0] == file and first <= groups[-1][2] + 1:
            groups[-1] = file, groups[-1][1], max(last, groups[-1][2])
        else:
            groups.append((file, first, last))
    return groups


def _algorithm(name: str, label: str, item: Algorithm, *, several: bool) -> Iterator[str]:
    yield f"### Algorithm {label}: {item.title}"
    tag = re.compile(rf"# A{re.escape(label)} L\d" if several else r"# L\d")
    files = sorted(family_folder(name).glob("algorithms/*.py"))
    counts = {file: len(tag.findall(file.read_text(encoding="utf-8"))) for file in files}
    yield f"{item.lines} lines, in the function `{item.function}`."
    for file in sorted((file for file in files if counts[file]), key=lambda each: -counts[each]):
        here = file.relative_to(family_folder(name)).as_posix()
        for first, last, marked in _tagged(file, tag):
            yield _source(name, here, first, last, marked)


def _tagged(file: Path, tag: re.Pattern[str]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the first and last line of each function with lines of an algorithm, and these."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    marked = [number for number, line in enumerate(lines, 1) if tag.search(line)]
    for node in _outermost(ast.parse(text)):
        inside = [number for number in marked if node.lineno <= number <= (node.end_lineno or 0)]
        if inside:
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            first = min(body[0].lineno, inside[0])
            yield first, node.end_lineno or first, inside


def _outermost(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from (each for each in node.body if isinstance(each, ast.FunctionDef))
        elif isinstance(node, ast.FunctionDef):
            yield node


def _link(name: str, file: str, line: int) -> str:
    path = f"models/{name}/{file}"
    return f"[{path}, line {line}](../../{path}#L{line})"


def _source(name: str, file: str, first: int, last: int, marked: list[int] | None = None) -> str:
    """Return lines of a file, with a link to them."""
    marks = ",".join(str(number - first + 1) for number in marked or ())
    return "\n".join(
        [
            _link(name, file, first),
            "",
            f"```{{literalinclude}} ../../models/{name}/{file}",
            ":language: python",
            f":lines: {first}-{last}",
            ":dedent:",
            f":lineno-start: {first}",
            *([f":emphasize-lines: {marks}"] if marks else []),
            "```",
        ]
    )


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _lines(name: str, file: str, label: str) -> tuple[int, int]:
    """Return the first and last line of what builds the rows of a name, or of a function.

    They are 0 if the file has no such statement.
    """
    path = family_folder(name) / file
    named = 0, 0
    for node in ast.walk(_tree(path)) if path.is_file() else ():
        match node:
            case (
                ast.Assign(targets=[ast.Attribute(attr=own)])
                | ast.FunctionDef(name=own)
                | ast.ClassDef(name=own)
            ) if own == label:
                return node.lineno, node.end_lineno or node.lineno
            case ast.Expr() | ast.Assign() | ast.For():
                inside = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
                if label in inside:
                    named = node.lineno, node.end_lineno or node.lineno
    return named


def write_equations(folder_of_pages: Path) -> None:
    """Write the pages of all families into a folder: only what has changed, to keep its time."""
    from schedgap.instances.families import OWN

    folder_of_pages.mkdir(exist_ok=True)
    for name in OWN:
        file, text = folder_of_pages / f"{name}.md", equations_page(name)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
