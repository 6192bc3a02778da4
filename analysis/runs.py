"""A run as users have it: its records, and the tables and the report that are made of them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from schedgap.analysis.stored import StoredRun
from schedgap.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


class Run(StoredRun):
    """The records of one or more run folders, and the tables that are made of them.

    Parameters
    ----------
    *folders : path
        Run folders; a task that several hold counts once (one that did not fail, if there is one).
    """

    @classmethod
    def load(cls, *folders: str | os.PathLike[str]) -> "Run":
        """Return the run that lies in these folders."""
        return cls(*folders)

    def verify(self) -> list[str]:
        """Verify every stored solution again; return in words what is wrong (nothing, if all is).

        Nothing in the folder is believed: schedules, objectives, statuses and certified bounds are
        judged from the instances alone.
        """
        from schedgap.analysis.verifying import verify

        wrong = []
        for record in self.records:
            found, certificate = record.solution, record.certificate
            if found is None or (found.schedule is None and certificate is None):
                continue
            instance = self.instance(record.instance.sha256)
            try:
                verdict = verify(instance, dict(found), certificate)
            except InputError as error:
                wrong.append(f"{record.instance.name}: {record.label}: {error}")
            else:
                wrong += [
                    f"{record.instance.name}: {record.label}: {item.rule}: {item.message}"
                    for item in verdict.violations
                ]
        return wrong

    def table(self) -> "pd.DataFrame":
        """Return a row for each record: objective, bound, ratio interval, time."""
        from schedgap.analysis.tables import table

        return table(self)

    def ratios(self) -> "pd.DataFrame":
        """Return a row for each schedule: ratio interval, what brackets it, the guarantee."""
        from schedgap.analysis.tables import ratios

        return ratios(self)

    def summary(self, *, by_preset: bool = True) -> "pd.DataFrame":
        """Return a row for each family, preset (if wanted) and method: counts, ratios, time."""
        from schedgap.analysis.tables import summary

        return summary(self, by_preset=by_preset)

    def headline(self) -> list[str]:
        """Return in sentences how tight the run is and how the papers' algorithms stand."""
        from schedgap.analysis.report.headline import headline
        from schedgap.analysis.report.results import collect

        head, sentences = headline(collect(self))
        return [head, *sentences]

    def progress(self) -> "pd.DataFrame":
        """Return a row for each time at which a method had a better schedule or bound."""
        from schedgap.analysis.tables import progress

        return progress(self)

    def profile(self) -> "pd.DataFrame":
        """Return performance profiles: for each method the share of instances within a ratio."""
        from schedgap.analysis.tables import profile

        return profile(self)

    def report(self, file: str | os.PathLike[str] | None = None) -> Path:
        """Write the offline report, by default `report.html` in the (first) run folder."""
        from schedgap.analysis.report import write_report

        target = self.folders[0].path / "report.html" if file is None else Path(file)
        return write_report([folder.path for folder in self.folders], target)

    def _repr_html_(self) -> str:
        from schedgap.analysis.tables import as_html

        return as_html(self)
