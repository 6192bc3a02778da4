"""A run: its records, tables of them, and the report."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from schedgap.analysis.solution import Solution
from schedgap.analysis.stored import StoredRun
from schedgap.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


class Run(StoredRun):
    """The records of one or more run folders, with tables and a report.

    Parameters
    ----------
    *folders : path
        Run folders. If several have a record of a task, the first that did not fail counts.
    """

    @classmethod
    def load(cls, *folders: str | os.PathLike[str]) -> "Run":
        """Return the run stored in these folders.

        Parameters
        ----------
        *folders : path
            Run folders.
        """
        return cls(*folders)

    def verify(self) -> list[str]:
        """Verify every stored solution again and describe each violation.

        Schedules, objectives, statuses, certified bounds and proofs are checked against the
        instances; nothing else in the folder is trusted. The list is empty if all are correct.
        """
        from schedgap.analysis.verifying import verify

        wrong = []
        for record in self.records:
            stored, certificate = record.solution, record.certificate
            proof = None if stored is None else stored.proof
            evidence = certificate is not None or (proof is not None and proof.file is not None)
            if stored is None or (stored.schedule is None and not evidence):
                continue
            instance = self.instance(record.instance.sha256)
            try:
                solution = Solution.bind(instance, dict(stored))
                files = [folder.task_file(record.key) for folder in self.folders]
                file = next((file for file in files if file.exists()), files[0])
                verdict = verify(instance, solution.with_proof_file(file), certificate)
            except InputError as error:
                wrong.append(f"{record.instance.name}: {record.label}: {error}")
            else:
                wrong += [
                    f"{record.instance.name}: {record.label}: {item.rule}: {item.message}"
                    for item in verdict.violations
                ]
        return wrong

    def table(self) -> "pd.DataFrame":
        """Return a table with a row for each record: objective, bound, ratio interval, time."""
        from schedgap.analysis.tables import table

        return table(self)

    def ratios(self) -> "pd.DataFrame":
        """Return a table with a row for each schedule: ratio interval, its sources, guarantee."""
        from schedgap.analysis.tables import ratios

        return ratios(self)

    def summary(self, *, by_preset: bool = True) -> "pd.DataFrame":
        """Return a table with a row for each family, preset and method: counts, ratios, time.

        Parameters
        ----------
        by_preset : bool
            Whether each preset has its own rows.
        """
        from schedgap.analysis.tables import summary

        return summary(self, by_preset=by_preset)

    def headline(self) -> list[str]:
        """Return sentences on how well the optima are known and how good the algorithms are."""
        from schedgap.analysis.report.headline import headline
        from schedgap.analysis.report.results import collect

        head, sentences = headline(collect(self))
        return [head, *sentences]

    def progress(self) -> "pd.DataFrame":
        """Return a table with a row for each improved schedule or bound and its time."""
        from schedgap.analysis.tables import progress

        return progress(self)

    def profile(self) -> "pd.DataFrame":
        """Return performance profiles: the share of instances by method and ratio."""
        from schedgap.analysis.tables import profile

        return profile(self)

    def report(self, file: str | os.PathLike[str] | None = None) -> Path:
        """Write the report and return its path.

        Parameters
        ----------
        file : path, optional
            By default `report.html` in the first run folder.
        """
        from schedgap.analysis.report import write_report

        target = self.folders[0].path / "report.html" if file is None else Path(file)
        return write_report([folder.path for folder in self.folders], target)

    def _repr_html_(self) -> str:
        from schedgap.analysis.tables import as_html

        return as_html(self)
