"""docs/proofs.md lists the files that a referee has to trust; their lines are counted here.

`python tests/test_trusted_lines.py` writes the tables anew, `... test_trusted_lines.py FAMILY`
lists all files of a family.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "proofs.md"
BEGIN, END = "<!-- trusted files: begin -->\n", "<!-- trusted files: end -->\n"
COMMAND = "python tests/test_trusted_lines.py"
FAMILIES = ["dmlrs", "edge", "elastic", "hare", "ring"]

# What each file decides; files of a family are in a separate table.
ROLES = {
    "solvers/proofs/checker.py": "the tree, integer programs, two kinds of cuts",
    "solvers/proofs/cuts.py": "two more kinds of cuts; family `elastic` only",
    "solvers/proofs/bins.py": "which units fit into bins; family `dmlrs` only",
    "solvers/proofs/runs.py": "runs that prices leave out; families `edge`, `elastic` only",
    "models/proofs.py": "reads the file, compares hash and goal, says what is excluded",
    "src/schedgap/proof.py": "the command: objective of the solution, verdict",
    "instances/records.py": "which numbers and keys a file may have",
    "instances/json_files.py": "which JSON a file may have; text of the hash",
    "instances/instance.py": "hash of the instance",
    "instances/families.py": "which class reads the instance",
    "instances/scaling.py": "decimals; family `dmlrs` only",
    "instances/solution.py": "which keys a solution may have",
    "instances/contract.py": "guards functions of other packages",
    "instances/verdict.py": "the violation of a rule",
    "instances/shapes.py": "shapes of the schedule; family `ring` only",
    "instances/page.py": "schema of a file as text, not run in a check",
    "src/schedgap/errors.py": "messages",
    "src/schedgap/lazy.py": "imports on first use",
    "solvers/proofs/limits.py": "starts the child process, passes its verdict on",
    "solvers/children/processes.py": "the child process, seen from its parent",
    "solvers/children/worker.py": "the child process",
    "solvers/children/clock.py": "a clock, not run in a check",
    "solvers/children/meter.py": "times of engines, not run in a check",
    "solvers/children/watchdog.py": "ends children of users' methods, not run in a check",
}


def module_path(name: str) -> Path | None:
    """Return the file of a module of this project."""
    head, *parts = name.split(".")
    if head != "schedgap":
        return None
    for base in (ROOT / "src" / "schedgap", ROOT):
        place = base.joinpath(*parts)
        if parts and place.with_suffix(".py").is_file():
            return place.with_suffix(".py")
        if (place / "__init__.py").is_file():
            return place / "__init__.py"
    return None


def _names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that statements import, in functions too, but not for type checkers."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                yield whole if module_path(whole) else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from _names(list(ast.iter_child_nodes(node)))


def imported(*modules: str) -> dict[str, int]:
    """Return the lines of all files that some modules import, directly or not, and their own."""
    found: dict[Path, int] = {}
    left = list(modules)
    while left:
        path = module_path(left.pop())
        if path is not None and path not in found:
            text = path.read_text(encoding="utf-8")
            found[path] = len(text.splitlines())
            left += _names(ast.parse(text).body)
    return {path.relative_to(ROOT).as_posix(): lines for path, lines in sorted(found.items())}


def of_tree(family: str) -> dict[str, int]:
    owner = f"schedgap.models.{family}"
    return imported(f"{owner}.proof", f"{owner}.rules", "schedgap.models.proofs", "schedgap.proof")


def of_certificate(family: str) -> dict[str, int]:
    owner = f"schedgap.models.{family}"
    return imported(f"{owner}.bounds.certificates", f"{owner}.rules")


def tables() -> str:
    trees = {family: of_tree(family) for family in FAMILIES}
    every = {file: lines for tree in trees.values() for file, lines in tree.items()}
    own = ("instance.py", "proof.py", "rules.py")
    common = [file for file in every if not any(f"/{family}/" in file for family in FAMILIES)]
    unknown = sorted(set(common) ^ set(ROLES))
    assert not unknown, f"say in ROLES what these files decide, or that they are gone: {unknown}"
    lines = ["| file, for all families | lines | what it decides |", "|---|---|---|"]
    lines += [f"| `{file}` | {every[file]} | {role} |" for file, role in ROLES.items()]
    heads = ["family", "`instances/<family>/instance.py`", "`models/<family>/proof.py`",
             "`models/<family>/rules.py`", "a tree: all files and their lines",
             "a certificate: `bounds/certificates.py`", "all files and their lines"]  # fmt: skip
    lines += ["", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for family, tree in trees.items():
        mine = [file for file in tree if f"/{family}/" in file]
        assert {Path(file).name for file in mine} == set(own), mine
        counts = [
            next(n for f, n in tree.items() if f.endswith(f"{family}/{name}")) for name in own
        ]
        certificate = of_certificate(family)
        first = certificate[f"models/{family}/bounds/certificates.py"]
        whole = [f"{len(files)}, {sum(files.values())}" for files in (tree, certificate)]
        cells = [family, *map(str, counts), whole[0], str(first), whole[1]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_lines_that_a_referee_has_to_trust_are_those_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]
    assert shown == tables(), f"run `{COMMAND}`, which writes the tables of docs/proofs.md anew"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tree_needs_no_engine_and_no_search(family: str) -> None:
    """As far as imports of the files say; the certificates of some families need both."""
    for file in of_tree(family):
        assert not file.startswith(("solvers/engines", "analysis")), file
        assert "/exact/" not in file and "/heuristics/" not in file, file


def main(arguments: list[str]) -> None:
    for family in arguments:
        for kind, files in ("tree", of_tree(family)), ("certificate", of_certificate(family)):
            print(
                f"{family}, {kind}:", *(f"  {n:5d} {file}" for file, n in files.items()), sep="\n"
            )
    if not arguments:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(before + BEGIN + tables() + END + rest.partition(END)[2], encoding="utf-8")
        print(f"written: {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
