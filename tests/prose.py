"""Find phrases that a reader has to read twice: `python tests/prose.py [--source] [FILE ...]`.

Without files, it reads the pages, the changelog, the notebooks, and the comments and docstrings of
the source, except `models`. It ends with 1 if it finds a phrase. `--source` reads all of the source
and prints a count for each folder.
"""

import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {
    "dmlrs.md",
    "edge.md",
    "elastic.md",
    "hare.md",
    "ring.md",
    "steps.md",
    "reproduction.md",
}
ROOMS = ("analysis", "instances", "models", "solvers", "src", "tests", "examples")
ADVICE = {
    r"\b(that|those) (of|whose)\b": "repeat the noun, or use a possessive",
    r", so that\b": "for a result: ', so'; for a purpose: 'so that' without a comma",
    r"\bbeside\b": "'next to', or 'with'",
    r"\bof (its|their) own\b": "'separate'",
    r"\bwhole numbers?\b": "'integer'",
    r"\bfor want of\b": "'for lack of', or 'because there is no'",
    r"(?<!here\s)\bis no\b(?! (longer|more|less|fewer|better|worse|larger|smaller)\b)": "'not a'",
    r"\b[Ll]eft out are\b": "put the subject first: 'X are left out'",
}
COMMENT = {
    r"^# (of|and|but|nor) \w": "a comment must make sense without the line before it",
    r"(?m)^ *(\w+) : [^\n]*\n +(The|A|An) \1\.$": "say a unit, a range or a role, or leave it out",
}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the text of a file, without code, with the number of its first line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 1, without_code(text)
    elif path.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "markdown":
                yield 1, without_code("".join(cell["source"]))
    else:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""')):
                yield token.start[0], re.sub(r"`[^`\n]*`", blank, token.string)


def without_code(text: str) -> str:
    """Return Markdown with blanks for blocks of code, code in a line, and quotations."""
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.M | re.S)
    return re.sub(r"`[^`]*`|\"[^\"\n]*\"|“[^”]*”", blank, text)


def blank(found: re.Match[str]) -> str:
    """Return as many lines of nothing."""
    return "x" + "\n" * found[0].count("\n")


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and advice for each finding in a file."""
    patterns = ADVICE if path.suffix in (".md", ".ipynb") else ADVICE | COMMENT
    for first, text in prose(path):
        for pattern, advice in patterns.items():
            if pattern in ADVICE:  # a phrase may be broken over lines
                pattern = pattern.replace(" ", r"\s+")
            for found in re.finditer(pattern, text):
                line = first + text[: found.start()].count("\n")
                yield line, " ".join(found[0].split()), advice


def pages() -> list[Path]:
    """Return the pages that are written by hand, and the notebooks."""
    found = [
        ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    ]
    docs = [path for path in (ROOT / "docs").rglob("*.md") if path.name not in GENERATED]
    return [*found, *sorted(each for each in docs if each.parent.name != "papers"),
            *sorted((ROOT / "notebooks").glob("*.ipynb"))]  # fmt: skip


def sources(room: str) -> list[Path]:
    """Return the Python files of a room."""
    found = sorted((ROOT / room).rglob("*.py"))
    return [path for path in found if "build" not in path.parts]


def main(arguments: list[str]) -> int:
    """Print the findings and return the exit code."""
    if arguments == ["--source"]:
        counts: Counter[tuple[str, str]] = Counter()
        for room in ROOMS:
            for path in sources(room):
                counts.update((room, advice) for _, _, advice in findings(path))
        for (room, advice), count in sorted(counts.items()):
            print(f"{room:10} {count:5}  {advice}")
        return 0
    wrong = 0
    source = [path for room in ROOMS for path in sources(room)]
    for path in map(Path, arguments) if arguments else [*pages(), *source]:
        for line, phrase, advice in findings(path):
            print(f"{path.resolve().relative_to(ROOT)}:{line}: '{phrase}': {advice}")
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
