"""Tables of families, methods, presets and programs, as the command line and notebooks show."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from schedgap.analysis.programs.models import program_sizes
from schedgap.errors import UsageError
from schedgap.instances.arguments import a_text, checked
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option
from schedgap.models.family import Family, family
from schedgap.models.family import families as all_families
from schedgap.models.method import Method
from schedgap.solvers import ENGINES, engine_status

if TYPE_CHECKING:  # it loads NumPy
    from schedgap.instances.generate import Preset


class Listing(list[dict[str, Any]]):
    """Rows as JSON data, shown as a table."""

    def frame(self) -> Any:
        """Return the rows as a pandas DataFrame of numbers and text."""
        import pandas as pd

        return pd.DataFrame(
            [{key: _cell(key, value) for key, value in row.items()} for row in self]
        )

    def __repr__(self) -> str:
        import pandas as pd

        with pd.option_context("display.max_colwidth", 60, "display.width", 200):
            return str(self.frame().to_string(index=False, na_rep="", max_colwidth=60))

    def _repr_html_(self) -> str:
        import pandas as pd

        with pd.option_context("display.max_colwidth", None):
            table = str(self.frame().to_html(index=False, na_rep="", justify="left", border=0))
        return table.replace("<td>", '<td style="text-align: left">')  # Jupyter aligns right


def _cell(key: str, value: Any) -> Any:
    """Return a value of a row as a number or as text."""
    if key == "options":
        return "; ".join(map(_domain, value))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def _domain(option: Mapping[str, Any]) -> str:
    """Return an option with its default and, where they are listed, its other values."""
    default = option["default"]
    if isinstance(default, bool) or option["type"] == "bool":
        values = ["true", "false"] if default else ["false", "true"]
    else:
        first = "none" if default is None else str(default)
        values = [first, *(choice for choice in option["choices"] if choice != first)]
    return f"{option['name']} = {' | '.join(values)}"


def families() -> Listing:
    """Return a row for each family.

    The keys are family, problem, paper, methods and models (how many), and presets.
    """
    return Listing(
        {
            "family": owner.name,
            "problem": owner.title,
            "paper": owner.paper.citation,
            "methods": len(owner.methods),
            "models": len(owner.programs),
            "presets": [*_presets(owner.name)],
        }
        for owner in all_families()
    )


def _presets(name: str, *, required: bool = False) -> Mapping[str, "Preset"]:
    """Return the presets of a family; one of another package need not have a generator."""
    from schedgap.instances.generate import presets

    try:
        return presets(name)
    except UsageError:
        if required:
            raise
        return {}


def models(of: str | Instance | None = None) -> Listing:
    """Return a row for each program of one family or of all families.

    The keys are family, model, also (further names), kind (exact, relaxation, dual or subproblem),
    equations (of the paper; empty for a program of ours) and summary. For an instance, further keys
    are rows, columns, integers (integer columns) and nonzeros. If a program cannot be built, note
    gives the reason.

    `of`: a family, or an instance whose programs are built; by default all families.
    """
    if isinstance(of, Instance):
        owner = family(of.family)
        return Listing(row | program_sizes(of, row["model"]) for row in _program_rows(owner))
    chosen = all_families() if of is None else [family(of)]
    return Listing(row for owner in chosen for row in _program_rows(owner))


def _program_rows(owner: Family) -> Iterator[dict[str, Any]]:
    for name, program in owner.programs.items():
        aliases = [alias for alias, target in owner.aliases.items() if target == name]
        yield {
            "family": owner.name,
            "model": name,
            "also": list(dict.fromkeys([*program.also, *aliases])),
            "kind": program.kind,
            "equations": program.equations,
            "summary": program.summary,
        }


@checked(name=a_text)
def methods(name: str | None = None) -> Listing:
    """Return a row for each method and alias of one family or of all families.

    The keys are family, method, kind, engines (default first), source, ours, alias_of (None for a
    method itself), summary, options (each with name, type, default, choices, help).

    Parameters
    ----------
    name : str, optional
        A family; by default all.
    """
    return Listing({**row, "options": [_option(option) for option in method.options]}
                   for row, method in method_rows(name))  # fmt: skip


def method_rows(name: str | None = None) -> Iterator[tuple[dict[str, Any], Method]]:
    """Yield what `methods` says, without options, which take longest to find; and the method.

    `name`: as for `methods`.
    """
    for owner in all_families() if name is None else [family(name)]:
        for alias, target in owner.aliases.items():
            yield _row(owner, owner.method(target), alias, target), owner.method(target)
        for method in owner.methods:
            yield _row(owner, method, method.name, None), method


def _row(owner: Family, method: Method, name: str, alias_of: str | None) -> dict[str, Any]:
    return {
        "family": owner.name,
        "method": name,
        "kind": method.kind,
        "engines": list(method.engines),
        "source": method.source,
        "ours": method.ours,
        "alias_of": alias_of,
        "summary": method.summary,
    }


def engines() -> Listing:
    """Return a row for each engine, also of other packages.

    The keys are engine, version (of `package`; None if it is not installed), status (available, not
    installed, cannot be loaded, limited licence or no licence), takes (kinds of programs), threads
    (the largest number; None for any), package and install (the command that installs it).
    """
    with ThreadPoolExecutor(2) as pool:  # a child process imports each engine
        status = dict(zip(ENGINES, pool.map(engine_status, ENGINES), strict=True))
    return Listing(
        {
            "engine": name,
            "version": _version(engine.package),
            "status": status[name],
            "takes": list(engine.takes),
            "threads": engine.max_threads,
            "package": engine.package,
            "install": engine.how_to_install(),
        }
        for name, engine in ENGINES.items()
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def rounding(name: str) -> str:
    """Return a sentence on the rounding of bounds; empty for a family without a grid."""
    owner = family(name)
    if owner.grid is Family.__dataclass_fields__["grid"].default:
        return ""
    return (
        "All objectives of an instance can lie on a grid, such as the integers. A bound is then "
        "rounded to the next point of the grid. It remains a bound on the optimum, but it can "
        "exceed the value of its relaxation. The trace has that value as `bound_before_rounding`."
    )


_BEGINNERS = {
    "hare": ("exact", "hare", "local-search", "srtf"),
    "elastic": ("exact", "a-online", "wspt-list", "fifo"),
    "edge": ("exact", "a-online", "list", "fifo"),
    "ring": ("exact", "sjf-bco", "local-search", "first-fit"),
    "dmlrs": ("exact", "pd-ors", "density", "fifo"),
}


def beginners(name: str) -> tuple[str, ...]:
    """Return the few methods of a family to start with.

    For a family of another package these are the first method of each kind: exact, algorithm of the
    paper, other algorithm, and baseline.
    """
    if name in _BEGINNERS:
        return _BEGINNERS[name]
    groups: dict[tuple[str, bool], str] = {}
    for method in family(name).methods:
        if method.kind != "bound":
            ours = method.ours and method.kind == "algorithm"
            groups.setdefault((method.kind, ours), method.name)
    return tuple(groups.values())


@checked(name=a_text)
def presets(name: str | None = None) -> Listing:
    """Return a row for each preset of one family or of all families.

    The keys are family, preset, summary, seeded (whether the seed matters), files (which of jobs,
    machines and rates can come from a file), options (as for methods).

    Parameters
    ----------
    name : str, optional
        A family; by default all.
    """
    return Listing(
        {
            "family": owner,
            "preset": preset.name,
            "summary": preset.summary,
            "seeded": preset.seeded,
            "files": list(preset.files),
            "options": [_option(option) for option in preset.options],
        }
        for owner in ([name] if name is not None else FAMILIES)
        for preset in _presets(owner, required=name is not None).values()
    )


def _option(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "type": option.type,
        "default": option.plain(option.default),
        "choices": list(option.choices),
        "help": option.help,
    }
