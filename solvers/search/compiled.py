"""Kernels: searches that run as Python, or compiled by numba once on each machine.

Compiled code is stored in a folder whose name is a hash of everything that went into it, because
numba itself looks for changes in the file of the entry only. numba reads its index of the folder by
pickle, so a folder into which others can write is not used.
"""

import hashlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from filelock import FileLock
from platformdirs import user_cache_dir

from schedgap.solvers.search import moves
from schedgap.solvers.search.annealing import insert_all

Function = Callable[..., Any]
_GENERIC = moves.total, moves.near, moves.arrange, moves.shift, moves.run
_READY = "ready"  # the file with the hash of all others, written last


@dataclass(frozen=True)
class Kernel:
    """The three functions of a family with those that they call, each after what it calls.

    `sample`: returns a problem, a state and a gene, for the compiler; all others have their types.
    `further`: names of functions that are called on their own, with samples of their arguments.
    """

    name: str
    functions: tuple[Function, ...]
    sample: Callable[[], tuple[Any, ...]]
    further: tuple[tuple[str, Callable[[], tuple[Any, ...]]], ...] = ()

    @cached_property
    def plain(self) -> Function:
        """`moves.run` with the functions of the family, not compiled."""
        return self._bound(lambda function: function)

    @cached_property
    def fast(self) -> Function:
        """`moves.run` with the functions of the family, compiled; `plain` where it is not ready."""
        return self._compiled() if self.is_ready else self.plain

    def compiled(self, name: str) -> Function | None:
        """Return one of the further functions, compiled; None where it is not ready."""
        if name not in self._ready and self.is_ready:
            self._ready[name] = self._compiled(name)
        return self._ready.get(name)

    @cached_property
    def _ready(self) -> dict[str, Function]:
        return {}

    def _sources(self) -> tuple[FunctionType, ...]:
        return cast(tuple[FunctionType, ...], (*self.functions, *_GENERIC))

    def _bound(self, convert: Callable[[FunctionType], Function], entry: str = "run") -> Function:
        """Return an entry; numba finds functions in its store if they are globals only."""
        names: dict[str, Function] = {}
        for function in self._sources():
            scope = {**function.__globals__, **names}
            own = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
            own.__module__, own.__qualname__ = function.__module__, f"{self.name}_{own.__name__}"
            names[function.__name__] = convert(own)
        return names[entry]

    def _compiled(self, entry: str = "run") -> Function:
        import numba

        usual, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(self.folder)
        try:
            return self._bound(
                lambda function: numba.njit(
                    cache=function.__name__ == entry, error_model="numpy", nogil=True
                )(function),
                entry,
            )
        finally:
            numba.config.CACHE_DIR = usual

    @cached_property
    def folder(self) -> Path | None:
        """Where the compiled code is.

        None without files of the source, or without a folder into which only this user can write.
        """
        switches = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
        versions = sys.version, importlib.metadata.version("numba"), _processor(), switches
        digest = hashlib.sha256(repr(versions).encode())
        try:
            for function in self._sources():
                file = Path(function.__code__.co_filename)
                digest.update(f"{file} {file.stat().st_mtime_ns}".encode() + file.read_bytes())
                for name in function.__code__.co_names:
                    value = function.__globals__.get(name)
                    if isinstance(value, int | float | tuple):
                        digest.update(f"{name} {value!r}".encode())
            folder = Path(user_cache_dir("schedgap")) / f"{self.name}-{digest.hexdigest()[:16]}"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.stat()
        except OSError:
            return None
        private = os.name != "posix" or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
        return folder if private and os.access(folder, os.W_OK) else None

    @property
    def is_ready(self) -> bool:
        """Whether the compiled code only has to be loaded, from files as they were stored."""
        try:
            return self.folder is not None and self._hash() == (self.folder / _READY).read_text()
        except (OSError, ValueError):
            return False

    def _files(self) -> list[Path]:
        """Return the files of the compiled code."""
        return [] if self.folder is None else sorted(self.folder.glob("*/*.nb[ci]"))

    def _hash(self) -> str:
        """Return a hash of them; numba fails on a file that is cut off."""
        digest = hashlib.sha256()
        for file in self._files():
            digest.update(file.name.encode() + file.read_bytes())
        return digest.hexdigest()

    @property
    def waits(self) -> bool:
        """Whether it can be compiled and has not been."""
        return self.folder is not None and not self.is_ready

    def give_up(self) -> None:
        """Do not wait for compiled code again in this process."""
        self.__dict__["folder"] = None

    def compile(self) -> None:
        """Compile, if it waits for that."""
        if not self.waits:
            return
        assert self.folder is not None
        with FileLock(self.folder / "lock"):
            if self.waits:
                for file in self._files():
                    file.unlink()
                problem, state, gene = self.sample()
                insert_all(self._compiled(), problem, state, [], gene)
                for name, arguments in self.further:
                    self._compiled(name)(*arguments())
                (self.folder / _READY).write_text(self._hash())


def compile_kernel(send: Callable[[object], None], module: str, instance: object) -> None:
    """Compile the kernel that a module has for an instance, in this child process."""
    kernel: Kernel = import_module(module).kernel(instance)
    kernel.compile()


def _processor() -> str:
    """Return the name of the processor; compiled code is for one kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), "")
