"""What a search for worst cases maximises: the method, what it is compared with, the instances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schedgap.analysis.own.methods import Own
from schedgap.analysis.solving.choices import Choice
from schedgap.errors import UsageError, choices
from schedgap.instances.families import instance_class
from schedgap.instances.generate import generate, presets, small_preset
from schedgap.instances.mutations import Space, space
from schedgap.instances.records import plain
from schedgap.instances.settings import whole_number
from schedgap.models.family import Family, family
from schedgap.models.method import Method
from schedgap.solvers.engines.availability import require

Options = Mapping[str, Any]

# Methods whose best schedule replaces the optimum during a search, fast ones first.
_REFERENCES: Mapping[str, tuple[tuple[str, Options], ...]] = {
    "dmlrs": (("density", {}), ("colgen-heuristic", {"moves": 1})),
    "edge": (("fifo", {}), ("list", {"moves": 10})),
    "elastic": (("wspt-list", {}), ("lp-guided", {})),
    "hare": (("list", {}), ("local-search", {"moves": 100})),
    "ring": (("lpt-pack", {}), ("branch-simulate", {})),
}


OPTIMUM = ("exact", "bound")  # what a method is compared with, if not with another method
MOST_WORKERS = 256
REFUTING_SCORE = 1 + 1e-6  # a score above this refutes a claim

Chosen = Callable[..., Any] | Own | str  # a method, as users give it


@dataclass(frozen=True, slots=True)
class Target:
    """What a search maximises.

    `family`, `method`: the method, whose schedules should be bad. `against`: "exact" or "bound",
    the optimum; or a method. `guarantee`: key of a claim of the paper: the score is then the ratio
    over the claimed factor. `preset`: preset of the instances from which chains start. `jobs`:
    largest number of jobs. `fixed`: keys of the instance file whose values stay as they are.
    `seed`: random seed of the search. `own`, `other`: the method, and what it is compared with, if
    it is one of the user's own. `against_options`: settings of the method it is compared with.
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

    own: Own | None = None
    other: Own | None = None
    against_options: Options = field(default_factory=dict)

    @property
    def optimum(self) -> bool:
        """Whether the ratio is that to the optimum."""
        return self.against in OPTIMUM and self.other is None

    def chosen(self) -> Method:
        """Return the method."""
        owner = family(self.family)
        return owner.method(self.method) if self.own is None else self.own.method(owner)

    def compared(self) -> Method:
        """Return the method that it is compared with, unless that is the optimum."""
        owner = family(self.family)
        return owner.method(self.against) if self.other is None else self.other.method(owner)

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data; methods of the user's own are told apart by their source."""
        plain = ("family", "method", "options", "against", "guarantee", "preset", "settings",
                 "jobs", "fixed", "seed")  # fmt: skip
        data = {name: getattr(self, name) for name in plain} | {"fixed": list(self.fixed)}
        if self.own is not None:
            data["code"] = self.own.code
        if self.other is not None:
            data["against_code"] = self.other.code
        if self.against_options:
            data["against_options"] = dict(self.against_options)
        return data


def target_of(
    name: str,
    method: Chosen,
    against: Chosen,
    guarantee: str | None,
    preset: str | None,
    settings: Mapping[str, object] | None,
    jobs: int | None,
    fixed: Sequence[str],
    seed: int,
    options: Mapping[str, object],
) -> Target:
    """Return what is searched.

    `name`, `method`, `against`, `guarantee`, `preset`, `settings`, `jobs`, `fixed`, `seed`,
    `options`: as in `worst_case`.

    Raises
    ------
    UsageError
        For what does not exist, and for what does not fit together.
    """
    owner, given_method = family(name), _read(method)
    own, options = given_method.own, {**dict(given_method.settings), **options}
    chosen = owner.method(given_method.method) if own is None else own.method(owner)
    parsed = chosen.parse(options)
    space(name)  # raises an error if there is none
    if chosen.kind == "bound":
        raise UsageError(f"method {chosen.name} is a bound and has no schedules")
    optimum = isinstance(against, str) and against in OPTIMUM
    other = Choice(str(against)) if optimum else _read(against)
    _check_other(owner, chosen, parsed, other)
    if guarantee is not None:
        _check_guarantee(owner, guarantee, chosen, options, other)
    known = presets(name)
    if preset is not None and preset not in known:
        raise UsageError(f"family {name} has no preset '{preset}': {choices(preset, known)}")
    if jobs is not None:
        jobs = positive(jobs, "jobs")
    keys = [] if isinstance(fixed, str) else list(fixed)  # it may be a generator
    if isinstance(fixed, str) or not all(isinstance(key, str) for key in keys):
        raise UsageError("fixed: need a list of keys")
    seed = whole_number(seed, "seed", most=2**31 - 1)
    start = preset or small_preset(name)
    usual = dict(space(name).start) if start == small_preset(name) else {}
    if jobs is not None:
        usual = {key: value for key, value in usual.items() if key not in ("jobs", "tasks")}
    given = plain(usual | _batch_settings(name, chosen.name) | dict(settings or {}))
    known[start].parse(given)
    if keys:
        data = generate(name, preset=start, settings=given).to_data()
        _check_keys(name, keys, {**data, "meta": {}})
    return Target(
        name,
        chosen.name,
        plain(options),
        other.method,
        guarantee,
        preset,
        given,
        jobs,
        tuple(sorted(set(keys))),
        seed,
        own,
        other.own,
        dict(other.settings),
    )


def _read(given: Chosen) -> Choice:
    """Return a method as the user gave it; UsageError with an engine."""
    choice = Choice.of(given)
    if choice.engine is not None:
        raise UsageError(
            f"method '{choice.method}@{choice.engine}': a search uses the first engine of each "
            f"method: leave out '@{choice.engine}'"
        )
    return choice


def _check_other(
    owner: Family, chosen: Method, parsed: Mapping[str, object], other: Choice
) -> None:
    """Raise an error unless there is a ratio of a method to what it is compared with."""
    optimum = other.own is None and other.method in OPTIMUM
    if optimum and other.method == "bound":
        bounds_of(owner)  # raises an error if there is none
        compared = chosen
    elif other.own is not None:
        compared = other.own.method(owner)
    else:
        compared = owner.method(other.method)
    settings = compared.parse({} if compared is chosen else dict(other.settings))
    if compared.kind == "bound":
        raise UsageError(f"method {compared.name} is a bound: use against='bound'")
    if compared.name == chosen.name and compared.code != chosen.code:
        raise UsageError(
            f"two methods have the name '{chosen.name}': give one another, as in "
            f"sg.own(rule, name='my-{chosen.name}')"
        )
    if owner.problem(parsed) != owner.problem(settings) and not optimum:
        raise UsageError(f"{chosen.name} and {compared.name} solve different problems: no ratio")
    if owner.problem(parsed) != owner.problem({}) and optimum:
        raise UsageError(
            f"{chosen.name} solves another problem with these options than method exact: no ratio"
        )
    for engine in {engine for method in (chosen, compared) for engine in needed(method)}:
        require(engine)


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


def positive(value: object, name: str, most: int | None = None) -> int:
    """Return an integer >= 1; UsageError for anything else.

    `value`: what was given. `name`: for the message. `most`: largest allowed value.
    """
    number = whole_number(value, name)
    if number < 1:
        raise UsageError(f"{name} {number}: need an integer >= 1")
    if most is not None and number > most:
        raise UsageError(f"{name} {number}: need at most {most}")
    return number


def _batch_settings(name: str, method: str) -> dict[str, object]:
    """Return the settings by which the preset `small` draws instances for methods of batches."""
    if (name, method) == ("elastic", "a-maxweight"):
        return {"objective": "scheduled_weight"}
    return {"batch_round": 3} if (name, method) == ("edge", "a-maxsche") else {}


def _check_guarantee(
    owner: Family, key: str, method: Method, options: Mapping[str, object], other: Choice
) -> None:
    """Raise UsageError if a claim does not exist, has no score, or says nothing on a method."""
    claims = owner.paper.guarantees
    searchable = [name for name, claim in claims.items() if claim.searchable]
    if key not in claims:
        known = choices(key, searchable)
        raise UsageError(f"family {owner.name} has no guarantee '{key}': {known}")
    if key not in searchable:
        raise UsageError(
            f"guarantee {key} of {owner.name} has no score to search by: "
            f"choose one of {', '.join(searchable) or 'none'}"
        )
    if method.name not in claims[key].methods:
        made = ", ".join(claims[key].methods)
        raise UsageError(f"guarantee {key} is a claim on {made}, not on {method.name}")
    others = set(changed_options(method, options)) - set(claims[key].options)
    if others:
        raise UsageError(f"guarantee {key} says nothing with option {min(others)}")
    if other.own is not None or other.method not in OPTIMUM:
        raise UsageError(f"guarantee {key} is a claim on the optimum: use against='exact'")


def changed_options(method: Method, settings: Options) -> dict[str, Any]:
    """Return the options of a method that do not have their defaults.

    `settings`: settings of some options.
    """
    values = method.parse(settings)
    return {
        option.name: values[option.name]
        for option in method.options
        if values[option.name] != option.default
    }


def allowed(target: Target) -> Space:
    """Return what may change in the instances of a target.

    `target`: what is searched.
    """
    given = space(target.family)
    lists = dict(given.lists) | ({} if target.jobs is None else {"jobs": target.jobs})
    return replace(given, lists=lists, fixed=given.fixed | frozenset(target.fixed))


def references(target: Target) -> list[tuple[Method, Options]]:
    """Return the methods whose best schedule is compared with, and their options.

    `target`: what is searched.
    """
    owner = family(target.family)
    if not target.optimum:
        return [(target.compared(), target.against_options)]
    if owner.name in _REFERENCES:
        return [(owner.method(name), options) for name, options in _REFERENCES[owner.name]]
    kinds = ("algorithm", "baseline")
    return [(method, method.parse({})) for method in owner.methods
            if method.kind in kinds and not method.engines]  # fmt: skip


def bounds_of(owner: Family) -> tuple[str, ...]:
    """Return the bounds that enclose an optimum: `lp` where there is one, else all.

    Raises
    ------
    UsageError
        If it has none.
    """
    names = [method.name for method in owner.methods if method.kind == "bound"]
    if not names:
        raise UsageError(f"family {owner.name} has no bound: use against='exact' or a method")
    return ("lp",) if "lp" in names else tuple(names)


def needed(method: Method) -> tuple[str, ...]:
    """Return the engines that a method loads."""
    return method.engines if method.runs_children else method.engines[:1]


def engine_of(target: Target) -> str | None:
    """Return the engine that a process for the target loads first, or None.

    `target`: what is searched.
    """
    methods = [target.chosen(), *(name for name, _ in references(target))]
    engines = (method.choose_engine(None) for method in methods if not method.runs_children)
    return next((engine for engine in engines if engine is not None), None)
