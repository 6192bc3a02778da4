"""What a search for worst cases maximises: the method, what it is compared with, the instances."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from schedgap.errors import UsageError, choices
from schedgap.instances.families import instance_class
from schedgap.instances.generate import generate, presets
from schedgap.instances.mutations import Space, space
from schedgap.instances.settings import whole_number
from schedgap.models.family import Family, family
from schedgap.models.method import Method

Options = Mapping[str, Any]

# Methods whose best schedule replaces the optimum during a search, fast ones first.
_REFERENCES: Mapping[str, tuple[tuple[str, Options], ...]] = {
    "dmlrs": (("density", {}), ("colgen-heuristic", {"moves": 1})),
    "edge": (("fifo", {}), ("list", {"moves": 10})),
    "elastic": (("wspt-list", {}), ("lp-guided", {})),
    "hare": (("list", {}), ("local-search", {"moves": 100})),
    "ring": (("lpt-pack", {}), ("branch-simulate", {})),
}


@dataclass(frozen=True, slots=True)
class Target:
    """What a search maximises; plain data, as they are written to a file.

    Attributes
    ----------
    family, method : str
        The method, whose schedules should be bad.
    options : mapping
        Settings of the method.
    against : str
        "exact" or "bound", the optimum; or a method.
    guarantee : str or None
        Key of a claim of the paper: the score is then the ratio over the claimed factor.
    preset : str or None
        Of the instances from which chains start.
    settings : mapping
        Settings of the preset.
    jobs : int or None
        Largest number of jobs.
    fixed : tuple of str
        Keys of the instance file whose values stay as they are.
    seed : int
        Of the search.
    """

    family: str
    method: str
    options: Options
    against: str
    guarantee: str | None
    preset: str | None
    settings: Options
    jobs: int | None
    fixed: tuple[str, ...]
    seed: int

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self) | {"fixed": list(self.fixed)}


def target_of(
    name: str,
    method: str,
    against: str,
    guarantee: str | None,
    preset: str | None,
    settings: Mapping[str, object] | None,
    jobs: int | None,
    fixed: Sequence[str],
    seed: int,
    options: Mapping[str, object],
) -> Target:
    """Return what is searched.

    Parameters
    ----------
    name, method, against, guarantee, preset, settings, jobs, fixed, seed, options
        As in `worst_case`.

    Raises
    ------
    UsageError
        For what does not exist, and for what does not fit together.
    """
    owner = family(name)
    chosen = owner.method(method)
    chosen.parse(options)
    space(name)  # or the error that there is none
    if chosen.kind == "bound":
        raise UsageError(f"method {method} is a bound and has no schedules")
    if against not in ("exact", "bound"):
        other = owner.method(against)
        if other.kind == "bound":
            raise UsageError(f"method {against} is a bound: use against='bound'")
    if guarantee is not None:
        _check_guarantee(owner, guarantee, chosen, options, against)
    known = presets(name)
    if preset is not None and preset not in known:
        raise UsageError(f"family {name} has no preset '{preset}': {choices(preset, known)}")
    if jobs is not None:
        positive(jobs, "jobs")
    if isinstance(fixed, str):
        raise UsageError("fixed: need a list of keys")
    seed = whole_number(seed, "seed", most=2**31 - 1)
    usual = {} if preset not in (None, "small") else dict(space(name).start)
    if jobs is not None:
        usual = {key: value for key, value in usual.items() if key not in ("jobs", "tasks")}
    given = usual | _batch_settings(name, chosen.name) | dict(settings or {})
    known[preset or "small"].parse(given)
    if fixed:
        start = generate(name, preset=preset or "small", settings=given)
        _check_keys(name, fixed, {**start.to_data(), "meta": {}})
    return Target(
        name,
        chosen.name,
        dict(options),
        against,
        guarantee,
        preset,
        given,
        jobs,
        tuple(fixed),
        seed,
    )


def _check_keys(name: str, fixed: Sequence[str], start: Mapping[str, Any]) -> None:
    """Raise UsageError for keys that neither the file format nor an instance has."""
    keys = sorted(_properties(instance_class(name).schema_of_file()) | _keys(start))
    for key in fixed:
        if key not in keys:
            raise UsageError(
                f"fixed: instances of {name} have no key '{key}': {choices(key, keys)}"
            )


def _keys(data: Any) -> set[str]:
    """Return the keys of all objects in JSON data."""
    if isinstance(data, list):
        return set().union(*map(_keys, data))
    return set(data).union(*map(_keys, data.values())) if isinstance(data, dict) else set()


def _properties(schema: Any) -> set[str]:
    """Return the names of all properties in a JSON Schema."""
    if isinstance(schema, list):
        return set().union(*map(_properties, schema))
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties")
    return set(own if isinstance(own, dict) else ()).union(*map(_properties, schema.values()))


def positive(value: object, name: str) -> int:
    """Return an integer >= 1; UsageError for anything else.

    Parameters
    ----------
    value : object
        What was given.
    name : str
        For the message.
    """
    number = whole_number(value, name)
    if number < 1:
        raise UsageError(f"{name} {number}: need an integer >= 1")
    return number


def _batch_settings(name: str, method: str) -> dict[str, object]:
    """Return the settings by which the preset `small` draws instances for methods of batches."""
    if (name, method) == ("elastic", "a-maxweight"):
        return {"objective": "scheduled_weight"}
    return {"batch_round": 3} if (name, method) == ("edge", "a-maxsche") else {}


def _check_guarantee(
    owner: Family, key: str, method: Method, options: Mapping[str, object], against: str
) -> None:
    """Raise UsageError if a claim does not exist or says nothing on a method."""
    claims = owner.paper.guarantees
    if key not in claims:
        raise UsageError(f"family {owner.name} has no guarantee '{key}': {choices(key, claims)}")
    if method.name not in claims[key].methods:
        made = ", ".join(claims[key].methods)
        raise UsageError(f"guarantee {key} is a claim on {made}, not on {method.name}")
    others = set(changed_options(method, options)) - set(claims[key].options)
    if others:
        raise UsageError(f"guarantee {key} says nothing with option {min(others)}")
    if against not in ("exact", "bound"):
        raise UsageError(f"guarantee {key} is a claim on the optimum: use against='exact'")


def changed_options(method: Method, settings: Options) -> dict[str, Any]:
    """Return the options of a method that do not have their defaults.

    Parameters
    ----------
    method : Method
        The method.
    settings : mapping
        Settings of some options.
    """
    values = method.parse(settings)
    return {
        option.name: values[option.name]
        for option in method.options
        if values[option.name] != option.default
    }


def allowed(target: Target) -> Space:
    """Return what may change in the instances of a target.

    Parameters
    ----------
    target : Target
        What is searched.
    """
    given = space(target.family)
    lists = dict(given.lists) | ({} if target.jobs is None else {"jobs": target.jobs})
    return replace(given, lists=lists, fixed=given.fixed | frozenset(target.fixed))


def references(owner: Family, target: Target) -> list[tuple[Method, Options]]:
    """Return the methods whose best schedule is compared with, and their options.

    Parameters
    ----------
    owner : Family
        The target's family.
    target : Target
        What is searched.
    """
    if target.against not in ("exact", "bound"):
        return [(owner.method(target.against), {})]
    if owner.name in _REFERENCES:
        return [(owner.method(name), options) for name, options in _REFERENCES[owner.name]]
    kinds = ("algorithm", "baseline")
    return [(each, each.parse({})) for each in owner.methods
            if each.kind in kinds and not each.engines]  # fmt: skip


def reference_names(target: Target) -> list[str]:
    """Return the names of the methods whose best schedule replaces the optimum during the search.

    Parameters
    ----------
    target : Target
        What is searched.
    """
    return [method.name for method, _ in references(family(target.family), target)]


def engine_of(target: Target) -> str | None:
    """Return the engine that a process for the target loads first, or None.

    Parameters
    ----------
    target : Target
        What is searched.
    """
    owner = family(target.family)
    methods = [owner.method(target.method), *(each for each, _ in references(owner, target))]
    engines = (each.choose_engine(None) for each in methods if not each.runs_children)
    return next((engine for engine in engines if engine is not None), None)
