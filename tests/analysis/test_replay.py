"""A replay shows the events of the algorithm that returned the stored schedule, and no other."""

import pytest
from browser import PATIENCE, SEEN, needs_chromium, seen_of

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.report import page as report
from schedgap.analysis.report import replay as module
from schedgap.analysis.report.pictures import explorer
from schedgap.analysis.report.replay import replay
from schedgap.analysis.report.results import collect
from schedgap.models.family import family
from strategies.ring_examples import W1


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    return compare([W1], run=folder, methods=["sjf-bco", "first-fit"], workers=1, time_limit=20)


def of(run, method):
    row, record = next(
        each for each in zip(run.rows, run.records, strict=True) if each[0].method == method
    )
    return row, family("ring").chart(W1, record.solution.schedule)


def test_every_job_is_placed_at_its_event(run):
    row, chart = of(run, "sjf-bco")
    found = replay(W1, row, chart)
    assert set(found.placed) == {bar.group for bar in chart.bars}
    for job, step in found.placed.items():
        assert ": place (" in found.steps[step] and f"job {job}," in found.steps[step]
    assert found.steps[0].startswith("A1 L7: run") and found.steps[-1].startswith("A1 L24: answer")


def test_a_schedule_that_the_algorithm_does_not_return_has_no_replay(run):
    row, _ = of(run, "sjf-bco")
    _, other = of(run, "first-fit")
    changed = other.__class__(other.lanes, other.bars[:-1], other.unit)
    assert replay(W1, row, changed) is None


@pytest.mark.parametrize(("name", "value"), [("MAX_BARS", 0), ("MAX_SECONDS", 0.0),
                                             ("MAX_STEPS", 0)])  # fmt: skip
def test_large_schedules_have_none(run, monkeypatch, name, value):
    monkeypatch.setattr(module, name, value)
    assert replay(W1, *of(run, "sjf-bco")) is None


def test_only_the_papers_algorithm_has_one_on_the_page(run):
    ((entry,), _) = explorer(collect(Run(run.folders[0].path)))
    told = {each["label"].partition(":")[0]: "steps" in each for each in entry["schedules"]}
    assert told == {"sjf-bco": True, "first-fit": False}


STEPS = """
addEventListener("load", async () => {
  const find = (selector) => document.querySelector(selector);
  const plot = find('[data-figure="gantt"] .plot'), step = find("#replay-step");
  await until(() => plot.querySelector(".main-svg") && !find("#replay").hidden);
  const seen = [];
  const look = () => {
    const upper = plot.data.filter((each) => each.yaxis === "y");
    const faint = upper.filter((each) => each.opacity < 0.1).map((each) => each.legendgroup);
    seen.push([step.value, find("#replay-text").textContent, new Set(faint).size]);
  };
  look();
  find("#replay-back").click();
  look();
  step.value = 0;
  step.dispatchEvent(new Event("input"));
  look();
  find("#replay-back").click();
  look();
  find("#replay-on").click();
  look();
  document.body.dataset.seen = JSON.stringify(seen);
});
"""


@needs_chromium
def test_a_reader_goes_through_the_steps(run, tmp_path, browse):
    page = report.write_report(run.folders[0].path, tmp_path / "report.html").read_text("utf-8")
    acting = page.replace("</body>", f"<script>{PATIENCE}{STEPS}</script></body>")
    seen = seen_of(browse(acting, SEEN))
    row, chart = of(run, "sjf-bco")
    found = replay(W1, row, chart)
    last, jobs = len(found.steps), len(found.placed)
    assert seen[0] == [str(last), f"The schedule after all {last} steps.", 0]
    assert seen[1] == [str(last - 1), f"Step {last} of {last}. {found.steps[-1]}", 0]
    assert seen[2] == ["0", f"Step 1 of {last}. {found.steps[0]}", jobs]  # none is placed yet
    assert seen[3] == seen[2]
    assert seen[4][:2] == ["1", f"Step 2 of {last}. {found.steps[1]}"]
