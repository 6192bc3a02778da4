"""The report of a run: one HTML file that works offline, on a phone and in print."""

import importlib.metadata
import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from schedgap.analysis.report.headline import headline, trouble
from schedgap.analysis.report.pictures import (
    Figure,
    explorer,
    family_figures,
    paper_figures,
    shared_layouts,
)
from schedgap.analysis.report.results import ReportData, collect
from schedgap.analysis.report.tables import (
    missing_table,
    result_table,
    settings_table,
    summary_table,
)
from schedgap.analysis.stored import StoredRun
from schedgap.analysis.tables import table
from schedgap.instances.records import write_text
from schedgap.models.family import family

__all__ = ["render", "write_report"]


def write_report(
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the report of one or more run folders as one HTML file and return its path.

    Parameters
    ----------
    runs : path or sequence of paths
        Run folders; their records are shown together.
    out : path, optional
        Output file; by default `report.html` in the first folder.

    Raises
    ------
    InputError
        If a folder is not a run folder, or the file cannot be written.
    """
    folders = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    target = Path(folders[0]) / "report.html" if out is None else Path(out)
    write_text(target, render(collect(StoredRun(*folders))))
    return target


def render(report: ReportData) -> str:
    """Return the report as HTML; the same results give the same text.

    Parameters
    ----------
    report : ReportData
        What the report shows.
    """
    sections: list[dict[str, Any]] = []
    figures: dict[str, Figure] = {}
    for place, name in enumerate(report.families, start=1):
        pictures = [*family_figures(report, name), *paper_figures(report, name)]
        figures |= {key: figure for key, _, _, figure in pictures}
        rows = [row for row in report.rows if row.family == name]
        by_preset = [row for row in report.rows_by_preset if row.family == name]
        several = len({row.preset for row in by_preset}) > 1
        owner = family(name)
        sections.append(
            {
                "title": f"{name}: {owner.title}",
                "paper": owner.paper.citation,
                "summary": summary_table(rows, f"summary-{place}"),
                "presets": summary_table(by_preset, f"presets-{place}") if several else None,
                "figures": [picture[:3] for picture in pictures],
            }
        )
    instances, left_out = explorer(report)
    head, sentences = headline(report)
    data = {
        "figures": figures,
        "instances": instances,
        "first": max(range(len(instances)), key=lambda k: instances[k]["worst"], default=0),
        "layouts": shared_layouts(),
        "results": table(report.run).to_csv(index=False, lineterminator="\r\n"),
    }
    names = [folder.path.resolve().name for folder in report.run.folders]
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text("page.html")).render(
        version=importlib.metadata.version("schedgap"),
        title=f"schedgap: {', '.join(names)}",
        runs=names,
        headline=head,
        sentences=sentences,
        trouble=trouble(report),
        contradictions=report.run.contradictions,
        families=sections,
        explorable=bool(instances),
        left_out=left_out,
        results=result_table(report.results),
        missing=missing_table(report.results),
        settings=settings_table(report.results),
        css=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
        plotly=Markup(get_plotlyjs()),
        data=_embedded_json(data),
    )


def _text(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _embedded_json(data: object) -> Markup:
    """Return JSON for a script element, escaped so that it cannot end the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
