"""Benchmark engines and formulations: each program with each engine on each instance."""

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice, product
from pathlib import Path
from typing import Any, cast

from schedgap.analysis.benchmarks.formulation import (
    PAPER,
    Formulation,
    Settings,
    benchmarked,
    check_engine,
    is_benchmarked,
)
from schedgap.analysis.comparing.compare import (
    DEFAULT_TIME_LIMIT,
    OnRecord,
    Target,
    compare,
    instances_of,
)
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.solving.choices import Choice
from schedgap.errors import InputError, UsageError
from schedgap.instances.arguments import (
    A_LIMIT,
    MEMORY,
    a_flag,
    a_function,
    a_mapping,
    a_path,
    a_text,
    an_integer,
    checked,
    refuse,
    several,
    texts,
)
from schedgap.instances.families import FAMILIES, unknown_family_message
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance
from schedgap.instances.settings import whole_number
from schedgap.models.family import Family, family
from schedgap.solvers.children.processes import cores
from schedgap.solvers.engines.registry import ENGINES, find_engine

REFERENCE = "exact"
NONE = "none"
MOST = 10_000  # seeds, orders, or numbers of threads
LARGEST_SEED = 2**31 - 1  # every engine takes seeds up to this


def _names(value: object) -> str | None:
    """Need a text, or a list of texts."""
    return None if isinstance(value, str) or texts(value) is None else "a text or a list of texts"


def _options(value: object) -> str | None:
    """Need options by the name of the engine."""
    need = "a mapping from engines to options"
    if a_mapping(value) is not None:
        return need
    return need if any(map(a_mapping, cast(Mapping[str, object], value).values())) else None


@checked(
    preset=a_text,
    settings=a_mapping,
    models=_names,
    engines=_names,
    engine_options=_options,
    permutations=an_integer(1, MOST),
    narrow=a_flag,
    confirm=a_flag,
    reference=a_text,
    workers=an_integer(1),
    time_limit=A_LIMIT,
    memory_limit=MEMORY,
    run=a_path,
    on_record=a_function,
)
def bench(
    targets: Target | Iterable[Target],
    *,
    preset: str | None = None,
    seeds: int | Iterable[int] | None = None,
    settings: Mapping[str, object] | None = None,
    models: str | Iterable[str] | None = None,
    engines: str | Iterable[str] | None = None,
    engine_options: Mapping[str, Mapping[str, object]] | None = None,
    threads: int | Iterable[int] = 1,
    permutations: int = 1,
    engine_seeds: int | Iterable[int] = 0,
    narrow: bool = False,
    confirm: bool = False,
    reference: str = REFERENCE,
    workers: int = 1,
    time_limit: float | None = DEFAULT_TIME_LIMIT,
    memory_limit: float | None = None,
    retry: bool | str | Iterable[str] = False,
    run: str | os.PathLike[str] | None = None,
    on_record: OnRecord | None = None,
) -> Run:
    """Solve programs of instances with engines, store the results, and return the run.

    Each task is one program, engine, setting and instance. It runs in a child process that is
    bound to its cores where the system can do that. Every answer is verified as a schedule, and
    every claim is confronted with all other results. Tasks whose results are in the folder already
    are not run again.

    Parameters
    ----------
    targets : family, Instance, path, or several
        Names of families, whose instances are generated; or instances, files, folders and suites
        as for `compare`.
    preset : str, optional
        Preset of the generated instances; by default the family's default.
    seeds : int or iterable of int, optional
        Seeds of the generated instances; by default 0.
    settings : mapping, optional
        Settings of the preset by name, such as `{"jobs": 3}`.
    models : str or iterable of str, optional
        Programs of the families: `paper` and those that `models(family)` lists as exact. By
        default all of them.
    engines : str or iterable of str, optional
        Names of engines, or `NAME:OPTION=VALUE` for a changed option. By default all that solve
        mixed-integer programs; one that is not installed is reported as such.
    engine_options : mapping, optional
        Engine -> options by name, for all of its tasks.
    threads : int or iterable of int
        Numbers of threads, each at most the number of cores.
    permutations : int
        How many orders of rows and columns: the first is the program's, the others are drawn.
    engine_seeds : int or iterable of int
        Random seeds of the engines.
    narrow : bool
        Whether jobs may run only in the time windows that a heuristic leaves open.
    confirm : bool
        Whether an engine must repeat its answer without presolve, outside the clock.
    reference : str
        Method that is run once on each instance to reveal wrong answers; it is not ranked.
        `none`: no such method.
    workers : int
        Number of tasks at a time. With more than one, times depend on the other tasks.
    time_limit, memory_limit : float, optional
        Limits of each task in wall-clock seconds, model building included, and in MB.
    retry : bool, str or iterable of str
        As for `compare`.
    run : path, optional
        The run folder; by default a temporary one.
    on_record : callable, optional
        As for `compare`.

    Raises
    ------
    UsageError, InputError
        Before anything is run.
    """
    instances = _instances(targets, preset, seeds, settings)
    owners = {instance.family: family(instance.family) for instance in instances}
    counts = _whole(threads, "threads", least=1, most=MOST)
    _check_cores(max(counts), workers)
    choices = [
        Choice.of(
            Formulation(
                program, engine, options, count, permutation, seed, narrow, confirm, workers
            )
        )
        for program, (engine, options), count, permutation, seed in product(
            _models(models, owners.values()),
            _engines(engines, engine_options or {}, counts),
            counts,
            range(permutations),
            _whole(engine_seeds, "engine seeds"),
        )
    ]
    if reference != NONE:
        choices.append(Choice.read(reference))
    return compare(
        instances,
        run=run,
        methods=cast(Sequence[Any], choices),
        workers=workers,
        time_limit=time_limit,
        memory_limit=memory_limit,
        retry=retry,
        on_record=on_record,
    )


def _instances(
    targets: Target | Iterable[Target],
    preset: str | None,
    seeds: int | Iterable[int] | None,
    settings: Mapping[str, object] | None,
) -> list[Instance]:
    """Return the instances; a family stands for instances that are generated here."""
    single = isinstance(targets, str | Instance | os.PathLike)
    if not single:
        refuse("targets", targets, several)
    given = [targets] if single else list(cast(Iterable[Target], targets))
    found: list[Instance] = []
    generated = False
    for target in cast(list[Target], given):
        if isinstance(target, str) and target in FAMILIES:
            numbers = _whole(0 if seeds is None else seeds, "seeds")
            found += [
                generate(target, preset=preset, seed=number, settings=settings)
                for number in numbers
            ]
            generated = True
            continue
        try:
            found += instances_of(target)
        except InputError as error:
            if Path(str(target)).exists() or not str(target).isidentifier():
                raise
            known = unknown_family_message(target)
            raise UsageError(f"{error}, and no family has this name: {known}") from None
    asked = {"preset": preset is not None, "seeds": seeds is not None, "settings": bool(settings)}
    for name, was_given in asked.items():
        if was_given and not generated:
            raise UsageError(f"{name}: only with a family as target ({', '.join(FAMILIES)})")
    if not found:
        raise UsageError("no instances")
    return list({instance.sha256: instance for instance in found}.values())


def _whole(
    value: int | Iterable[int], name: str, least: int = 0, most: int = LARGEST_SEED
) -> list[int]:
    """Return one or several integers, each once."""
    single = isinstance(value, str) or not isinstance(value, Iterable)
    given = [value] if single else list(islice(cast(Iterable[int], value), MOST + 1))
    if len(given) > MOST:
        raise UsageError(f"{name}: need at most {MOST} numbers")
    numbers = [whole_number(count, name) for count in given]
    if not numbers:
        raise UsageError(f"{name}: need at least one")
    for number in numbers:
        if not least <= number <= most:
            raise UsageError(f"{name} {number}: need an integer from {least} to {most}")
    return list(dict.fromkeys(numbers))


def _check_cores(threads: int, workers: int) -> None:
    """Raise `UsageError` if tasks need more cores than there are."""
    if threads * workers > cores():
        asked = f"threads {threads}" + (f" in {workers} tasks at a time" if workers > 1 else "")
        raise UsageError(f"{asked}: this process may use {cores()} cores")


def _models(models: str | Iterable[str] | None, owners: Iterable[Family]) -> list[str]:
    """Return the names of the programs; `UsageError` for a name that no family has."""
    known = list(owners)
    if models is None:
        names = [
            PAPER if _is_paper(owner, key) else key
            for owner in known
            for key in owner.programs
            if is_benchmarked(owner, key)
        ]
        return list(dict.fromkeys(names))
    names = models.split(",") if isinstance(models, str) else list(models)
    if not names:
        raise UsageError("models: need at least one")
    for name in names:
        faults: list[UsageError] = []
        for owner in known:
            try:
                benchmarked(owner, name)
            except UsageError as error:
                faults.append(error)
        if len(faults) == len(known):
            raise faults[0]
    return list(dict.fromkeys(names))


def _is_paper(owner: Family, key: str) -> bool:
    try:
        return benchmarked(owner, PAPER) == key
    except UsageError:
        return False


def _engines(
    engines: str | Iterable[str] | None,
    common: Mapping[str, Mapping[str, object]],
    threads: Sequence[int],
) -> list[tuple[str, Settings]]:
    """Return the engines with their options, after asking each engine whether it accepts them."""
    if engines is None:
        texts = [name for name in ENGINES if "mixed-integer" in find_engine(name).takes]
    else:
        texts = engines.split(",") if isinstance(engines, str) else list(engines)
    if not texts:
        raise UsageError("engines: need at least one")
    found: list[tuple[str, Settings]] = []
    for text in texts:
        name, *words = text.strip().split(":")
        find_engine(name)
        options = {**common.get(name, {}), **dict(map(option, words))}
        for key, value in options.items():
            if not isinstance(value, bool | int | float | str):
                raise UsageError(f"option {name}:{key}: need a number, a text or a flag")
            if _is_controlled(name, key):
                raise UsageError(
                    f"option {name}:{key}: a benchmark has settings of its own for threads, "
                    "engine seeds and the time limit, and keeps the log of each task"
                )
        found.append((name, tuple(options.items())))
    for name in common:
        find_engine(name)
        if name not in {name for name, _ in found}:
            raise UsageError(f"options of engine {name}, which is not one of {', '.join(texts)}")
    found = list(dict.fromkeys(found))
    for name, options_of in found:
        most = find_engine(name).max_threads
        usable = [count for count in threads if most is None or count <= most]
        check_engine(name, dict(options_of), max(usable, default=1))
    return found


def _is_controlled(engine: str, option: str) -> bool:
    """Return whether a benchmark sets an option; Gurobi takes names in any case, and patterns."""
    names = (name.lower() for name in find_engine(engine).controlled)
    return any(fnmatchcase(name, option.lower()) for name in names)


def option(text: str) -> tuple[str, object]:
    """Return an option of an engine from `NAME=VALUE`; numbers and flags are typed.

    `text`: as written on the command line.
    """
    name, equals, word = text.partition("=")
    if not equals or not name:
        raise UsageError(f"option '{text}' of an engine: need NAME=VALUE")
    flags: dict[str, object] = {"true": True, "false": False}
    if word.lower() in flags:
        return name, flags[word.lower()]
    for kind in (int, float):
        try:
            return name, kind(word)
        except ValueError:
            continue
    return name, word
