"""Kernels: searches and pricing that run as Python, or compiled by numba once on each machine.

Compiled code is stored in a folder whose name is a hash of everything that went into the code. The
reason is that numba looks for changes only in the file of the entry. Numba reads its index of the
folder by pickle. So a folder into which others can write is not used.
"""

import hashlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from types import FunctionType
from typing import Any, cast

from filelock import FileLock
from platformdirs import user_cache_dir

Function = Callable[..., Any]
_READY = "ready"  # the file with the hash of all others, written last


@dataclass(frozen=True)
class Kernel:
    """An entry, the last of the functions, with all that it calls; each after what it calls.

    `sample`: returns arguments of the entry, for the compiler; all others have their types.
    `large`: whether an instance is worth the loading of compiled code.
    """

    name: str
    functions: tuple[Function, ...]
    sample: Callable[[], tuple[Any, ...]]
    large: Callable[[Any], bool]

    @cached_property
    def plain(self) -> Function:
        """The entry, not compiled."""
        return self._bound(lambda function: function)

    @cached_property
    def fast(self) -> Function:
        """The entry, compiled; `plain` where it is not ready."""
        return self._compiled() if self.is_ready else self.plain

    def entry(self, instance: object) -> Function:
        """Return the entry; it is compiled for a large instance, if that is ready."""
        return self.fast if self.large(instance) else self.plain

    def compiled(self, instance: object) -> Function | None:
        """Return the compiled entry for a large instance; otherwise, or if not ready, None."""
        return None if (entry := self.entry(instance)) is self.plain else entry

    def _sources(self) -> tuple[FunctionType, ...]:
        return cast(tuple[FunctionType, ...], self.functions)

    def _bound(self, convert: Callable[[FunctionType], Function]) -> Function:
        """Return the entry; numba finds functions in its store if they are globals only."""
        names: dict[str, Function] = {}
        for function in self._sources():
            scope = {**function.__globals__, **names}
            own = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
            own.__module__, own.__qualname__ = function.__module__, f"{self.name}_{own.__name__}"
            names[function.__name__] = convert(own)
        return names[self.functions[-1].__name__]

    def _compiled(self) -> Function:
        import numba

        entry = self.functions[-1].__name__
        usual, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(self.folder)
        try:
            return self._bound(
                lambda function: numba.njit(
                    cache=function.__name__ == entry, error_model="numpy", nogil=True
                )(function)
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
        self.__dict__.pop("fast", None)  # plain, if it was not ready when it was asked for
        if not self.waits:
            return
        assert self.folder is not None
        with FileLock(self.folder / "lock"):
            if self.waits:
                for file in self._files():
                    file.unlink()
                self._compiled()(*self.sample())
                (self.folder / _READY).write_text(self._hash())


def compile_kernel(send: Callable[[object], None], place: str) -> None:
    """Compile the kernel of a place, `module:name`, in this child process."""
    kernel: Kernel = resolve_name(place)
    kernel.compile()


def _processor() -> str:
    """Return the name of the processor; compiled code is for one kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), "")
