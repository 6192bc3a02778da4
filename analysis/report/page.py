"""The report of a run: one HTML file that works offline, on a phone and in print.

The data of figures and schedules are compressed and unpacked when they are shown. The library that
draws them, `plotly-basic.min.js`, is the basic bundle of plotly.js 4.1.1 (MIT licence).
"""

import base64
import gzip
import importlib.metadata
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.report.engines import engine_section
from schedgap.analysis.report.finds import finds_table
from schedgap.analysis.report.headline import headline, news, trouble
from schedgap.analysis.report.loads import load_figures
from schedgap.analysis.report.overview import overview_figure
from schedgap.analysis.report.pictures import (
    Figure,
    explorer,
    family_figures,
    paper_figures,
    shared_layouts,
)
from schedgap.analysis.report.results import ReportData, collect
from schedgap.analysis.report.tables import (
    finds_id,
    missing_table,
    overview_rows,
    overview_table,
    pairs_table,
    result_table,
    settings_table,
    summary_table,
)
from schedgap.analysis.statistics.loads import by_load
from schedgap.analysis.statistics.tables import table
from schedgap.instances.arguments import a_flag, a_path, checked, refuse
from schedgap.instances.records import write_text
from schedgap.models.family import family

LEVEL = 6  # compression level of zlib
MAX_ROWS = 300  # rows of all results shown at first; the others are unpacked later


@checked(out=a_path, older=a_flag)
def write_report(
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    older: bool = False,
) -> Path:
    """Write the report of one or more run folders as one HTML file and return its path.

    Parameters
    ----------
    runs : path or sequence of paths
        Run folders; their records are shown together.
    out : path, optional
        Output file; by default `report.html` in the first folder.
    older : bool
        Whether to include the results of older source code.

    Raises
    ------
    InputError
        If a folder is not a run folder, or the file cannot be written.
    """
    refuse("runs", runs, _folders)
    folders = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    target = Path(folders[0]) / "report.html" if out is None else Path(out)
    write_text(target, render(collect(StoredRun(*folders, older=older)), target.parent))
    return target


report = write_report  # its name in `schedgap`


def _folders(runs: object) -> str | None:
    """Need a run folder, or several."""
    given = runs if isinstance(runs, list | tuple) else [runs]
    if not given:
        return "at least one run folder"
    return "a run folder, or a list of them" if any(map(a_path, given)) else None


def render(report: ReportData, folder: Path | None = None) -> str:
    """Return the report as HTML; the same results give the same text.

    `report`: what the report shows. `folder`: folder of the report, from which logs are linked; by
    default the first run folder.
    """
    sections: list[dict[str, Any]] = []
    figures: dict[str, Figure] = {}
    loads = by_load(report.run)
    for place, name in enumerate(report.families, start=1):
        pictures = [
            *family_figures(report, name),
            *load_figures(loads, name),
            *paper_figures(report, name),
        ]
        figures |= {key: figure for key, _, _, figure in pictures}
        rows = [row for row in report.rows if row.family == name]
        by_preset = [row for row in report.rows_by_preset if row.family == name]
        several = len({row.preset for row in by_preset}) > 1
        owner = family(name)
        sections.append(
            {
                "name": name,
                "title": f"{name}: {owner.title}",
                "paper": owner.paper.citation,
                "summary": summary_table(rows, f"summary-{place}"),
                "presets": summary_table(by_preset, f"presets-{place}") if several else None,
                "pairs": pairs_table(report, name, f"pairs-{place}"),
                "finds": finds_table(rows, f"found-{place}"),
                "finds_id": finds_id(name),
                "figures": [picture[:3] for picture in pictures],
            }
        )
    engines, pictures_of_engines = engine_section(
        report.run, report.run.folders[0].path if folder is None else folder
    )
    figures |= {key: figure for key, _, _, figure in pictures_of_engines}
    instances, left_out = explorer(report)
    head, sentences = headline(report)
    results = result_table(report.results)
    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    data = {
        "figures": list(figures),
        "instances": [instance["label"] for instance in instances],
        "first": max(range(len(instances)), key=lambda k: instances[k]["worst"], default=0),
        "layouts": shared_layouts(),
        "rows": len(results.rows),
    }
    packed = {f"figure-{key}": _json(figure) for key, figure in figures.items()}
    packed |= {f"instance-{place}": _json(each) for place, each in enumerate(instances)}
    packed["more"] = results.body(MAX_ROWS)
    packed["results.csv"] = table(report.run).to_csv(index=False, lineterminator="\r\n")
    names = [folder.path.resolve().name for folder in report.run.folders]
    return environment.get_template("page.html").render(
        version=importlib.metadata.version("schedgap"),
        title=f"schedgap: {', '.join(names)}",
        runs=names,
        headline=head,
        sentences=sentences,
        news=news(report),
        overview=overview_table(report),
        overview_figure=overview_figure(overview_rows(report)),
        trouble=trouble(report),
        contradictions=report.run.contradictions,
        warnings=report.run.warnings,
        families=sections,
        engines=engines,
        explorable=bool(instances),
        left_out=left_out,
        results=replace(results, rows=results.rows[:MAX_ROWS]),
        total=len(results.rows),
        missing=missing_table(report.results),
        settings=settings_table(report.results),
        css=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
        plotly=Markup(_text("plotly-basic.min.js")),
        data=_embedded_json(data),
        packed={key: _packed(text) for key, text in packed.items()},
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _packed(text: str) -> str:
    """Return a text compressed by gzip, in Base64; the same text gives the same result."""
    return base64.b64encode(gzip.compress(text.encode(), LEVEL, mtime=0)).decode()


def _embedded_json(data: object) -> Markup:
    """Return JSON for a script element, escaped so that it cannot end the element."""
    text = _json(data)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
