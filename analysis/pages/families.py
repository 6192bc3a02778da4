"""Generate the documentation page of a family from its paper and its methods."""

import ast
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from schedgap.analysis.pages.listing import rounding
from schedgap.analysis.records.finds import Find, finds
from schedgap.analysis.report.words import at_least, ratio_text
from schedgap.instances.families import FAMILIES, OWN
from schedgap.models import Family, family
from schedgap.models.paper import Equation


def page(name: str) -> str:
    """Return a family's page in Markdown."""
    owner, places, computed = (
        family(name),
        files_of_names(name),
        files_of_names(name, first="algorithms"),
    )
    paper = owner.paper
    parts = [
        f"# Family `{name}`: {owner.title}",
        f"Paper: {paper.citation} https://doi.org/{paper.doi}",
        f"This page is generated from the source by `{_command(name)}`.",
        "## Problem",
        paper.problem,
        "## Symbols and keys",
        markdown_table(
            ("paper", "key", "domain", "meaning"),
            ((f"`{item.letter}`" if item.letter else "", f"`{item.key}`" if item.key else "",
              item.domain, item.meaning) for item in paper.symbols),
        ),
        "## Schedule and rules",
        paper.schedule,
        markdown_table(("rule", "requirement"), paper.rules.items()),
        "## Methods",
        _methods(owner),
        *filter(None, [rounding(owner.name)]),
        "## Equations",
        markdown_table(
            ("equation", "status", "source", "note"),
            ((f"({label})", item.status, _equation(name, item, places, computed), item.note)
             for label, item in paper.equations.items()),
        ),
        "## Algorithms",
        "In the source, a comment `# L4` marks line 4 of the printed algorithm, and `# A2 L4` "
        "line 4 of Algorithm 2 if the paper has several.",
        markdown_table(
            ("algorithm", "title", "lines", "function", "source"),
            ((label, item.title, f"{item.lines}", f"`{item.function}`",
              _lines_of(name, label, len(paper.algorithms) > 1))
             for label, item in paper.algorithms.items()),
        ),
        "## Guarantees",
        *(
            f"**{item.source}**: {item.claim}. Methods: "
            + ", ".join(f"`{method}`" for method in item.methods)
            + ". Assumptions: "
            + "; ".join(item.assumptions)
            + f". Verdict: {item.verdict}."
            + _worst_of(owner, label)
            for label, item in paper.guarantees.items()
        ),
        *_worst_cases(name),
        *_figures(owner),
        "## Errata and decisions",
        markdown_table(
            ("", "where", "the paper says", "problem", "our decision", "option as printed"),
            ((label, item.where, item.printed, item.problem, item.decision, item.switch)
             for label, item in paper.errata.items()),
        ),
    ]  # fmt: skip
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _equation(
    name: str, item: Equation, places: Mapping[str, str], computed: Mapping[str, str]
) -> str:
    """Return where an equation stands: rows of programs, or functions that compute it."""
    if item.status == "modelled" and not item.by and item.note.startswith("the objective"):
        printed = "programs/printed.py"
        return f"`objective` in {_link(name, printed)}"
    rows = item.status in ("modelled", "implied", "replaced")
    return _where(name, item.by, places if rows else computed)


def files_of_names(name: str, first: str = "programs") -> dict[str, str]:
    """Return the first file with each name of a row or function, the paper's folders first."""
    folder = family_folder(name)
    rooms = ("programs", "algorithms", "baselines", "bounds", "heuristics", "exact")

    def rank(file: Path) -> tuple[int, bool, str]:
        room = file.relative_to(folder).parts[0].removesuffix(".py")  # a folder or one file
        place = rooms.index(room) if room in rooms else len(rooms)
        place = -1 if room == first else place
        return place, file.stem != "printed", str(file)

    defined: dict[str, str] = {}
    files: dict[str, str] = {}
    for file in sorted(_source(name), key=rank):
        if file.name == "paper.py":
            continue
        here = file.relative_to(folder).as_posix()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=word) | ast.ClassDef(name=word):
                    defined.setdefault(word, here)
                case ast.Attribute(attr=word):
                    files.setdefault(word, here)
                case ast.Constant(value=str(word)) if word.isidentifier():
                    files.setdefault(word, here)
    return files | defined


def _lines_of(name: str, label: str, several: bool) -> str:
    """Return links to the files that cite lines of an algorithm, most lines first."""
    folder = family_folder(name)
    tag = re.compile(rf"# A{re.escape(label)} L\d" if several else r"# L\d")
    counts = {
        file.relative_to(folder).as_posix(): len(tag.findall(file.read_text(encoding="utf-8")))
        for file in sorted(_source(name))
        if file.relative_to(folder).parts[0].startswith("algorithms")
    }
    ranked = sorted((file for file, count in counts.items() if count), key=lambda f: -counts[f])
    return ", ".join(_link(name, file) for file in ranked)


def _command(name: str) -> str:
    return "make docs" if name in OWN else f"python -m schedgap.analysis.pages . {name}"


def _module(name: str) -> Path:
    """Return the file of a family's module."""
    return Path(str(importlib.import_module(FAMILIES[name].models).__file__))


def family_folder(name: str) -> Path:
    return _module(name).parent


def _source(name: str) -> list[Path]:
    """Return the files of a family, which may be one."""
    module = _module(name)
    return [*module.parent.rglob("*.py")] if module.name == "__init__.py" else [module]


def _link(name: str, file: str) -> str:
    """Return a file as a link; the page of another package names it only."""
    return f"[{file}](../models/{name}/{file})" if name in OWN else f"`{file}`"


def _where(name: str, words: Sequence[str], places: Mapping[str, str]) -> str:
    """Return rows or functions with links to the files that contain them."""
    files: dict[str, list[str]] = {}
    for word in words:
        files.setdefault(places.get(word, ""), []).append(f"`{word}`")
    return "; ".join(
        ", ".join(names) + (f" in {_link(name, file)}" if file else "")
        for file, names in files.items()
    )


def _methods(owner: Family) -> str:
    names: dict[str, list[str]] = {}
    for alias, target in owner.aliases.items():
        names.setdefault(target, []).append(f"`{alias}`")
    rows = []
    for method in owner.methods:
        alias = f" ({', '.join(names[method.name])})" if method.name in names else ""
        options = "; ".join(
            f"`{item.name}` = {_default(item.default)}: {item.help}" for item in method.options
        )
        rows.append((
            f"`{method.name}`{alias}", method.kind, ", ".join(method.engines) or "none",
            method.source + (", ours" if method.ours and method.source != "ours" else ""),
            method.summary, options,
        ))  # fmt: skip
    return markdown_table(("method", "kind", "engines", "source", "description", "options"), rows)


def _worst_of(owner: Family, label: str) -> str:
    """Return sentences on the worst ratio found of a guarantee's methods, and on refutations."""
    claims = owner.paper.guarantees
    text = ""
    for method in claims[label].methods:
        first = next(key for key, each in claims.items() if method in each.methods)
        known = [each for each in finds(owner.name) if each.method == method and each.low > 1]
        if known and first == label:
            worst = max(known, key=lambda each: each.low)
            text += f" Worst ratio in the library of `{worst.name}`: {_ratio(worst)}"
            text += f", {_promise(owner, worst)} ({_instance(worst)})."
    refuting = [each for each in finds(owner.name) if each.refutes == label]
    if refuting:
        worst = max(refuting, key=lambda each: each.score or 0.0)
        text += f" `{worst.name}` refutes it by a factor of {_score(worst)} ({_instance(worst)})."
    return text


def _promise(owner: Family, find: Find) -> str:
    """Return what the paper claims of a find's ratio."""
    promised = owner.paper.guarantee(find.instance, find.method, find.options)
    factor, holds = promised.get("factor"), promised.get("holds")
    if factor is None:
        return "where no factor is claimed"
    if promised.get("note"):
        return f"where {promised['note']}" + ("" if holds else "; an assumption fails")
    return f"where {factor:.4g} is claimed" + ("" if holds else ", though an assumption fails")


def _ratio(find: Find) -> str:
    return ratio_text(find.low, find.high)


def _score(find: Find) -> str:
    return "" if find.score is None else at_least(find.score).removeprefix("≥ ")


def _instance(find: Find) -> str:
    """Return a link to a find."""
    name, file = find.instance.name, f"{find.instance.family}/{find.instance.name}.json"
    return f"[{name}](../instances/library/{file})"


def _worst_cases(name: str) -> list[str]:
    """Return the worst ratios found, with what the paper claims; empty if there are none."""
    rows = [
        (
            f"`{each.name}`",
            _ratio(each),
            f"{each.claimed:.4g}" if each.claimed is not None else "",
            f"refutes `{each.refutes}`, {_score(each)} times the claim" if each.refutes else "",
            f"{len(each.instance.to_data()['jobs'])}",
            ", ".join(f"`{key}`: {value}" for key, value in each.variant),
            _instance(each),
        )
        for each in finds(name)
    ]
    if not rows:
        return []
    head = ("method", "ratio", "factor", "claim", "jobs", "switches", "instance")
    used = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return [
        "### Worst cases found",
        "Ratios to the optimum on instances of the library, found by `schedgap worst-case` "
        "([worst cases](worst-cases.md)) and certified by two exact methods. `factor` is the "
        "paper's on the instance, whether or not its assumptions hold there.",
        markdown_table(
            [head[place] for place in used], ([row[place] for place in used] for row in rows)
        ),
    ]


def table_of_finds() -> str:
    """Return the table of all finds of the library in Markdown, for docs/worst-cases.md."""
    rows = []
    for each in (find for name in OWN for find in finds(name)):
        found = each.instance.meta["worst_case"]["found"]
        rows.append((
            each.instance.family, f"`{each.name}`", _ratio(each),
            f"{each.claimed:.4g}" if each.claimed is not None else "",
            f"{each.refutes}: {_score(each)}" if each.refutes else "",
            f"{len(each.instance.to_data()['jobs'])}", f"{found['evaluations']}",
            f"{found['seconds']}", f"{found['seed']}", _instance(each),
        ))  # fmt: skip
    head = ("family", "method", "ratio", "factor", "refuted by a factor of", "jobs",
            "evaluations", "seconds", "seed", "instance")  # fmt: skip
    return markdown_table(head, rows)


def with_finds(text: str) -> str:
    """Return docs/worst-cases.md with the present table of finds.

    `text`: the page, with the table between two comments.
    """
    before, _, rest = text.partition("<!-- finds -->\n")
    _, _, after = rest.partition("<!-- end of finds -->")
    return f"{before}<!-- finds -->\n{table_of_finds()}\n<!-- end of finds -->{after}"


def _figures(owner: Family) -> list[str]:
    if owner.experiments is None:
        return []
    rows = [
        (f"`{owner.name}-figure-{item.figure}`", item.title, item.x, ", ".join(item.series),
         "; ".join(dict.fromkeys(claim.sentence or claim.text for claim in item.claims)))
        for item in owner.experiments() if not item.setting
    ]  # fmt: skip
    return [
        "## Figures",
        f"`schedgap compare {owner.name}-figures --run DIR` computes all figures and writes their "
        "values as CSV into `DIR/figures`; the report of the run draws them. Each figure also "
        "shows the best known schedule and a proved bound.",
        markdown_table(("suite", "figure", "x", "series", "the paper's claim"), rows),
    ]


def _default(value: object) -> str:
    return "" if value is None else str(value).lower()


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    `head`: names of the columns. `rows`: cells, one for each column.
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
