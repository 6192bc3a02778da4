"""Hash of the source code that can change a method's result."""

import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from schedgap.instances.families import FAMILIES, instance_class
from schedgap.models.family import Family
from schedgap.models.method import Lazy, Method
from schedgap.models.options import innermost

PACKAGE = __name__.partition(".")[0]
DIGITS = 12  # hexadecimal digits of a hash
SHARED = ("models/*.py", "models/mechanisms/**/*.py", "solvers/**/*.py", "instances/*.py")
VERIFYING = (  # files of `analysis`
    *("results/bounds", "results/optimality"),
    *("runners/child", "runners/run", "runners/runner", "solving/proving"),
)
DESCRIPTIVE = frozenset(  # files that describe, draw or generate; no method imports them
    {
        *("models/claims.py", "models/figure.py", "models/gantt.py", "models/paper.py"),
        *("figures.py", "gantt.py", "paper.py"),  # files of a family
        *("generate.py", "generator.py", "from_traces.py", "drafts.py", "examples.py"),
        *("workload.py", "measured.py", "capacity.py"),
    }
)

_codes: dict[str, str] = {}


def family_hash(name: str) -> str:
    """Return a hash of the source that can change the results of a family's methods.

    It covers the family, what families share, the solvers, the class of the instances, and the
    verification of results. It does not cover code that only describes, draws or generates. The
    hash is kept until `family_hash.cache_clear()`.
    """
    if name not in _codes:
        digest = hashlib.sha256()
        for label, file in sorted(_files(name)):
            digest.update(label.encode() + b"\0")
            digest.update(file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
        _codes[name] = digest.hexdigest()[:DIGITS]
    return _codes[name]


def refresh() -> bool:
    """Read the source again, as in a notebook that lives on; return whether any has changed."""
    before = dict(_codes)
    _codes.clear()
    return any(family_hash(name) != code for name, code in before.items() if name in FAMILIES)


def method_hash(owner: Family, method: Method) -> str:
    """Return the hash of a family's source, and of the method's own source if it lies elsewhere.

    `method`: one of its methods; the two hashes are joined by `+`.
    """
    code = family_hash(owner.name)
    if method.code:  # a user\'s own
        return f"{code}+{method.code}"
    function = innermost(method.run)
    if isinstance(function, Lazy):
        if _is_covered(function.name.partition(":")[0], owner.name):
            return code
        function = function.load()
    if _is_covered(getattr(function, "__module__", ""), owner.name):
        return code
    return f"{code}+{module_hash(function)}"


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == PACKAGE


def _is_covered(module: str, family: str) -> bool:
    """Return whether the hash of a family covers a module."""
    return _is_ours(module) or module.partition(".")[0] == _root(family).partition(".")[0]


def module_hash(function: Callable[..., Any]) -> str:
    """Return a hash of a function's module or, in a notebook, of the function itself.

    `function`: any function.
    """
    source: bytes
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
        source = Path(file or "").read_bytes()
    except (OSError, TypeError):
        try:
            source = inspect.getsource(function).encode()
        except (OSError, TypeError):  # defined by `exec`, or compiled
            code = getattr(function, "__code__", None)
            source = repr(function).encode() if code is None else code.co_code + _constants(code)
    return hashlib.sha256(source.replace(b"\r\n", b"\n")).hexdigest()[:DIGITS]


def _constants(code: Any) -> bytes:
    nested = [_constants(constant) if hasattr(constant, "co_consts") else repr(constant).encode()
              for constant in code.co_consts]  # fmt: skip
    return b"\0".join([*nested, repr(code.co_names).encode()])


def _root(name: str) -> str:
    """Return the name of a family's module."""
    return FAMILIES[name].models


def _files(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of a family's hash, each with its name."""
    for pattern in SHARED:
        room = pattern.partition("/")[0]
        yield from _python(_folder(room), pattern.partition("/")[2], room)
    for name_in_analysis in VERIFYING:
        yield f"analysis/{name_in_analysis}.py", _folder("analysis") / f"{name_in_analysis}.py"
    where = FAMILIES[name]
    top = where.models if _is_ours(where.models) else where.models.partition(".")[0]
    for module in {top, where.instances.partition(":")[0] or instance_class(name).__module__}:
        source = Path(inspect.getsourcefile(importlib.import_module(module)) or "")
        if source.name == "__init__.py":
            yield from _python(source.parent, "**/*.py", module)
        else:  # a family in one file
            yield module, source


def _folder(room: str) -> Path:
    return Path(next(iter(importlib.import_module(f"{PACKAGE}.{room}").__path__)))


def _python(top: Path, pattern: str, room: str) -> Iterator[tuple[str, Path]]:
    for file in top.glob(pattern):
        label = file.relative_to(top).as_posix()
        if not DESCRIPTIVE & {label, f"{room}/{label}"}:
            yield f"{room}/{label}", file
