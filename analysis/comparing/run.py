"""A run: its records, tables of them, and the report."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from schedgap.analysis.records.folder import UNKNOWN_GRID, read_record
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.results.bounds import Scale
from schedgap.analysis.results.solution import Solution
from schedgap.errors import ContradictionError, InputError
from schedgap.instances.arguments import (
    a_flag,
    a_path,
    a_text,
    checked,
    numbers,
    one_of,
    positive,
    texts,
)

if TYPE_CHECKING:
    import pandas as pd

    from schedgap.analysis.statistics.sweeps import Measure


class Run(StoredRun):
    """The records of one or more run folders, with tables and a report.

    Parameters
    ----------
    *folders : path
        Run folders. Every record of every folder counts; several records of one task are
        repetitions.
    older : bool
        Whether to include the results of older source code.
    """

    @classmethod
    def load(cls, *folders: str | os.PathLike[str], older: bool = False) -> "Run":
        """Return the run stored in these folders.

        Parameters
        ----------
        *folders : path
            Run folders.
        older : bool
            Whether to include the results of older source code.
        """
        return cls(*folders, older=older)

    @checked(strict=a_flag)
    def verify(self, *, strict: bool = False) -> list[str]:
        """Verify every stored solution again and describe each violation.

        The instances decide whether schedules, objectives, statuses, certified bounds and proofs
        are correct. Schedules of other methods may refute claims. Nothing else in the folder is
        trusted. The list is empty if all are correct.

        Parameters
        ----------
        strict : bool
            Whether to list the claims too that are only reported.
        """
        from schedgap.analysis.results.verifying import verify

        wrong = []
        for row in self.rows:
            record = read_record(Path(row.file))
            stored, certificate = record.solution, record.certificate
            proof = None if stored is None else stored.proof
            evidence = certificate is not None or (proof is not None and proof.file is not None)
            if stored is None or (stored.schedule is None and not evidence):
                continue
            instance = self.instance(record.instance.sha256)
            try:
                solution = Solution.bind(instance, dict(stored))
                with_file = solution.with_proof_file(Path(row.file))
                verdict = verify(instance, with_file, certificate)
            except (InputError, ContradictionError) as error:
                wrong.append(f"{record.instance.name}: {record.label}: {error}")
            else:
                found = [f"{item.rule}: {item.message}" for item in verdict.violations]
                grid = Scale.of(instance).grid
                if record.instance.grid not in (grid, UNKNOWN_GRID):
                    found.append(f"the record has the grid {record.instance.grid}, not {grid}")
                named = None if proof is None else proof.kind
                if (named == "certificate" and certificate is None) or (
                    named == "tree" and with_file.proof_data is None and not with_file.proof_fault
                ):
                    found.append(f"proof: the record names a {named} that it does not have")
                if strict and not found:
                    found += [text for text in verdict.claims if "reported" in text]
                wrong += [f"{record.instance.name}: {record.label}: {text}" for text in found]
        return wrong + [text for text in self.contradictions if text not in wrong]

    def table(self) -> "pd.DataFrame":
        """Return a table with a row for each record: objective, bound, ratio interval, time."""
        from schedgap.analysis.statistics.tables import table

        return table(self)

    def ratios(self) -> "pd.DataFrame":
        """Return a table with a row for each schedule: ratio interval, its sources, guarantee."""
        from schedgap.analysis.statistics.tables import ratios

        return ratios(self)

    @checked(by_preset=a_flag, common=a_flag, methods=texts)
    def summary(
        self,
        *,
        by_preset: bool = True,
        common: bool = True,
        methods: Collection[str] | None = None,
    ) -> "pd.DataFrame":
        """Return a table with a row for each family, preset and method: counts, ratios, time.

        Parameters
        ----------
        by_preset : bool
            Whether each preset has its own rows.
        common : bool
            Whether means are over the instances on which all compared methods have a ratio;
            otherwise each method has means over its own instances.
        methods : collection of str, optional
            Names of the methods to compare; by default all.
        """
        from schedgap.analysis.statistics.summary import summary

        return summary(self, by_preset=by_preset, common=common, methods=methods)

    @checked(by=one_of("", "size", "model", "engine"), shift=positive())
    def engines(
        self, by: Literal["", "size", "model", "engine"] = "", *, shift: float = 10.0
    ) -> "pd.DataFrame":
        """Return a row for each formulation and engine of a benchmark: what it solved, and times.

        Parameters
        ----------
        by : {"", "size", "model", "engine"}
            Which configurations are compared with each other: all of a family, or only within a
            size class of instances, a formulation, or an engine.
        shift : float
            Of the geometric means, in seconds, > 0.
        """
        from schedgap.analysis.statistics.engines import engines

        return engines(self, by, shift=shift)

    def engine_pairs(self) -> "pd.DataFrame":
        """Return wins, ties and losses by time of each two configurations of a benchmark."""
        from schedgap.analysis.statistics.engines import engine_pairs

        return engine_pairs(self)

    def engine_tasks(self) -> "pd.DataFrame":
        """Return a row for each task of a benchmark, with all that its engine reports."""
        from schedgap.analysis.statistics.engines import engine_tasks

        return engine_tasks(self)

    def loads(self) -> "pd.DataFrame":
        """Return ratios by family, trace and offered load: paper's algorithm, FIFO, the best."""
        from schedgap.analysis.statistics.loads import by_load

        return by_load(self)

    @checked(by_preset=a_flag, methods=texts)
    def pairs(
        self, *, by_preset: bool = True, methods: Collection[str] | None = None
    ) -> "pd.DataFrame":
        """Return a table with a row for each two methods: wins, ratio of objectives, tests.

        Parameters
        ----------
        by_preset : bool
            Whether each preset has its own rows.
        methods : collection of str, optional
            Names of the methods to compare; by default all.
        """
        from schedgap.analysis.statistics.comparisons import pairs

        return pairs(self, by_preset=by_preset, methods=methods)

    @checked(by_preset=a_flag, shift=positive(), methods=texts)
    def times(
        self,
        *,
        by_preset: bool = True,
        shift: float = 1.0,
        methods: Collection[str] | None = None,
    ) -> "pd.DataFrame":
        """Return mean times of each method: at the limit, PAR2, and where all completed.

        Parameters
        ----------
        by_preset : bool
            Whether each preset has its own rows.
        shift : float
            Of the geometric means, in seconds, > 0.
        methods : collection of str, optional
            Names of the methods to compare; by default all.
        """
        from schedgap.analysis.statistics.comparisons import times

        return times(self, by_preset=by_preset, shift=shift, methods=methods)

    @checked(by=one_of("objective", "seconds"), by_preset=a_flag, methods=texts)
    def virtual_best(
        self,
        by: Literal["objective", "seconds"] = "objective",
        *,
        by_preset: bool = True,
        methods: Collection[str] | None = None,
    ) -> "pd.DataFrame":
        """Return what each method contributes to the best method on each instance.

        Parameters
        ----------
        by : {"objective", "seconds"}
            What is compared: objectives, or the seconds of exact methods.
        by_preset : bool
            Whether each preset has its own rows.
        methods : collection of str, optional
            Names of the methods to compare; by default all.
        """
        from schedgap.analysis.statistics.comparisons import virtual_best

        return virtual_best(self, by, by_preset=by_preset, methods=methods)

    @checked(by_preset=a_flag, methods=texts)
    def integrals(
        self, *, by_preset: bool = True, methods: Collection[str] | None = None
    ) -> "pd.DataFrame":
        """Return primal, dual and primal-dual integrals of each method, in seconds.

        Parameters
        ----------
        by_preset : bool
            Whether each preset has its own rows.
        methods : collection of str, optional
            Names of the methods to compare; by default all.
        """
        from schedgap.analysis.statistics.comparisons import integrals

        return integrals(self, by_preset=by_preset, methods=methods)

    @checked(seconds=numbers, by_preset=a_flag, methods=texts)
    def gaps(
        self,
        seconds: Iterable[float] | None = None,
        *,
        by_preset: bool = True,
        methods: Collection[str] | None = None,
    ) -> "pd.DataFrame":
        """Return mean gaps of each method over time.

        Parameters
        ----------
        seconds : iterable of float, optional
            Times; by default up to the time limit, in equal steps on a logarithmic axis.
        by_preset : bool
            Whether each preset has its own rows.
        methods : collection of str, optional
            Names of the methods to compare; by default all.
        """
        from schedgap.analysis.statistics.comparisons import gaps

        return gaps(self, seconds, by_preset=by_preset, methods=methods)

    def headline(self) -> list[str]:
        """Return sentences on how well the optima are known and how good the algorithms are."""
        from schedgap.analysis.intervals import DIGITS
        from schedgap.analysis.report.headline import headline
        from schedgap.analysis.report.results import collect

        head, sentences = headline(collect(self), DIGITS)
        return [head, *sentences]

    def progress(self) -> "pd.DataFrame":
        """Return a table with a row for each improved schedule or bound and its time."""
        from schedgap.analysis.statistics.tables import progress

        return progress(self)

    @checked(by=one_of("objective", "seconds", "factor"), methods=texts)
    def profile(
        self,
        by: Literal["objective", "seconds", "factor"] = "objective",
        *,
        methods: Collection[str] | None = None,
    ) -> "pd.DataFrame":
        """Return performance or time profiles: the share of instances by method and ratio or time.

        Parameters
        ----------
        by : {"objective", "seconds", "factor"}
            What a step is: a ratio to the best known schedule, a time, or a time divided by the
            fastest method's time on the instance.
        methods : collection of str, optional
            Names of the methods to compare; by default all.
        """
        from schedgap.analysis.statistics.comparisons import profile

        return profile(self, by, methods=methods)

    @checked(x=a_text, y=a_text, color=a_text, methods=texts)
    def plot(
        self,
        x: str,
        y: "Measure" = "ratio",
        *,
        color: str = "method",
        methods: Collection[str] | None = None,
    ) -> Any:
        """Return a Plotly figure of means over a setting, with the range of single instances.

        Each mean is over the instances that all drawn methods have in common at that value.

        Parameters
        ----------
        x : str
            A column of `table()`, such as a setting of the generator: `jobs`.
        y : {"ratio", "objective", "seconds"}
            What is measured. Means of ratios and of seconds are geometric; a mean ratio that is
            known as an interval is a band between two lines.
        color : str
            A column of `table()` whose values are the lines.
        methods : collection of str, optional
            Names of the methods; by default all.

        Raises
        ------
        UsageError
            If there is no such column.
        """
        from schedgap.analysis.statistics.sweeps import plot

        return plot(self, x, y, color=color, methods=methods)

    @checked(file=a_path)
    def report(self, file: str | os.PathLike[str] | None = None) -> Path:
        """Write the report and return its path.

        Parameters
        ----------
        file : path, optional
            By default `report.html` in the first run folder.
        """
        from schedgap.analysis.report.page import write_report

        target = self.folders[0].path / "report.html" if file is None else Path(file)
        folders = [folder.path for folder in self.folders]
        return write_report(folders, target, older=self.includes_older)

    def _repr_html_(self) -> str:
        from schedgap.analysis.statistics.readable import as_html

        return as_html(self)
