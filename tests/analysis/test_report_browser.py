"""The report in a browser: every figure is drawn, nothing is cut off, and the tables work."""

import html
import re

import pytest
from browser import PATIENCE, SEEN, needs_chromium, seen_of
from reports import made_page, made_run  # noqa: F401

from schedgap.analysis.report import page as report
from schedgap.analysis.report import pictures


@needs_chromium
def test_a_browser_draws_all_figures_and_reports_no_error(page, browse):
    drawn = "document.querySelectorAll('.plot .main-svg').length"
    done = browse(page, f"{drawn} >= 12")  # two or more for each of six figures
    assert len(re.findall(r'<g class="trace bars"', done.dom)) == 2  # two schedules, one bar each
    assert "<title>schedgap:" in done.dom  # the hostile names did not change it
    assert "scan: 10, optimal" in done.dom
    assert not re.findall(r"Error|Refused|violates", done.said)


WIDTHS = [320, 360, 768, 1024, 1400, 1600]
MEASURED = """
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement;
  const tables = [...document.querySelectorAll("table[id]")];
  document.querySelectorAll("section > details").forEach((each) => { each.open = true; });
  setTimeout(() => {
    const clipped = tables.filter((each) =>
      each.offsetWidth > each.parentElement.clientWidth + 1).length;
    const summary = document.getElementById("summary-1");
    const row = summary.tBodies[0].rows[0], all = row.cells.length;
    const heads = summary.classList.contains("cards") ? 0
      : [...summary.tHead.rows[0].cells].filter((each) => each.offsetWidth).length;
    const fit = summary.parentElement.nextElementSibling;
    if (!fit.hidden) fit.querySelector("button").click();
    const cards = [...row.cells].slice(1).filter((each) =>
      !/^(none|normal)$/.test(getComputedStyle(each, "::before").content)).length;
    parent.found([innerWidth, root.scrollWidth - root.clientWidth, clipped,
      heads === all ? "whole" : cards === all - 1 ? "cards" : "cut"].join(" "));
  }, 200);
}, 500));
"""
FOUND = """
const all = [];
window.found = (text) => { all.push(text); document.title = all.join(", "); };
"""


@pytest.fixture(scope="module")
def widths(page, browse):
    """Return what a page found about its own width in frames of several widths.

    Frames, because headless windows themselves cannot be that narrow.
    """
    inner = html.escape(page.replace("</body>", f"<script>{MEASURED}</script></body>"))
    frames = "".join(
        f'<iframe srcdoc="{inner}" style="width:{width}px;height:900px;border:0"></iframe>'
        for width in WIDTHS
    )
    outer = f"<!doctype html><title>empty</title><script>{FOUND}</script><body>{frames}"
    done = browse(outer, f"all.length === {len(WIDTHS)}")
    found = re.search(r"<title>(.*?)</title>", done.dom)[1].split(", ")
    return {int(each.partition(" ")[0]): each for each in found}


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(widths, width):
    assert widths[width].startswith(f"{width} 0 0 ")  # no table scrolls
    # either all columns are shown, or the cards, which one can ask for, have them
    assert widths[width].endswith("whole" if width >= 1400 else "cards")


UNPACKED = """
const unpacked = [], set = Map.prototype.set;
Map.prototype.set = function (key, value) {
  if (/^figure-|^instance-/.test(key) && typeof value === "string") unpacked.push(key);
  return set.call(this, key, value);
};
"""
PRINTED = """
addEventListener("beforeprint", () => {
  const plots = [...document.querySelectorAll(".plot")];
  const figures = plots.filter((each) => each.querySelector(".main-svg"));
  const widths = new Set(figures.map((each) => each.querySelector(".main-svg").clientWidth));
  console.log(`drawn ${figures.length} of ${plots.length}, ${[...widths]} wide`);
});
"""


@needs_chromium
def test_a_print_has_all_figures(page, browse):
    """Also those that were never near the window, which is small."""
    watched = page.replace("</style>", f"</style><script>{UNPACKED}</script>", 1)
    watched = watched.replace("</body>", f"<script>{PRINTED}</script></body>")
    done = browse(watched, "unpacked.length === 5", size=(800, 300), pdf=True)
    assert "drawn 6 of 6, 680 wide" in done.said
    assert len(re.findall(rb"/Type /Page\b", done.pdf)) >= 3


ACTIONS = """
const saved = [], seen = {};
window.Blob = function (parts, { type }) { saved.push({ type, text: parts.join("") }); };
URL.createObjectURL = () => "#";
addEventListener("load", async () => {
  const pick = (id, text) => {
    const select = document.querySelector(id);
    select.value = [...select.options].find((each) => each.text.startsWith(text)).value;
    select.dispatchEvent(new Event("change"));
  };
  const rows = () => [...document.querySelectorAll("#every-result tbody tr")];
  const firsts = () => rows().filter((row) => !row.hidden).map((row) => row.cells[1].textContent);
  const head = [...document.querySelectorAll("#every-result thead button")]
    .find((button) => button.textContent.startsWith("objective"));
  const soon = async () => {
    for (let turn = 0; turn < 10; turn += 1) await wait();
  };
  head.click();
  await soon();
  seen.up = firsts();
  head.click();
  await soon();
  seen.down = firsts().slice(0, 2);
  const filter = document.querySelector("#filter");
  filter.value = "FIRST free";
  filter.dispatchEvent(new Event("input"));
  await soon();
  seen.filtered = firsts();
  seen.count = document.querySelector("#filter-count").textContent;
  const kind = document.querySelector("#filter-kind");
  filter.value = "";
  kind.value = "bound";
  kind.dispatchEvent(new Event("input"));
  await soon();
  seen.bounds = firsts();
  const details = document.querySelector('[data-figure="ratios-toy"] details');
  details.open = true;
  await soon();
  seen.values = details.querySelectorAll("tbody tr").length;
  const shown = async () => {
    const select = document.querySelector("#instance");
    await until(() => select.dataset.shown === select.value);
  };
  await shown();
  pick("#instance", "wide");
  await shown();
  const plot = document.querySelector('[data-figure="gantt"] .plot');
  seen.titles = plot.layout.annotations.map((each) => each.text);
  pick("#lower", "scan");
  seen.alone = plot.layout.annotations.map((each) => each.text);
  pick("#highlight", "job");
  pick("#lower", "first");
  seen.opacity = plot.data.map((each) => each.opacity);
  plot.emit("plotly_click", { points: [{ data: { legendgroup: "job" } }] });
  seen.highlight = document.querySelector("#highlight").selectedOptions[0].text;
  pick("#progress-method", "scan");
  seen.progress = document.querySelector('[data-figure="progress"] .plot').data.length;
  const buttons = [...document.querySelectorAll(".buttons button")];
  buttons.forEach((button) => button.click());
  await until(() => saved.length >= buttons.length);
  seen.csv = []; seen.svg = 0;
  for (const { type, text } of saved) {
    if (type === "text/csv") seen.csv.push(text.split("\\r\\n").slice(0, 2));
    else seen.svg += text.startsWith("<svg");
  }
  document.body.dataset.seen = JSON.stringify(seen);
});
"""


@needs_chromium
def test_sorting_filtering_choosing_and_saving_work(page, browse):
    acting = page.replace("</body>", f"<script>{PATIENCE}{ACTIONS}</script></body>")
    seen = seen_of(browse(acting, SEEN))
    # objectives 7 (free), 10 (even), 12 (wide), 15, 15, and three results without one at the end
    assert seen["up"][:3] == ["first", "scan", "scan"]
    assert seen["down"] == ["first", "first"]
    assert (seen["filtered"], seen["count"]) == (["first"], "1 of 8 results")
    assert seen["bounds"] == ["below"]
    assert seen["values"] == 5  # two results of `scan` and three of `first`
    assert seen["titles"] == ["scan: 12", "first: 15"]
    assert seen["alone"] == ["scan: 12"]  # a schedule compared with itself is one chart
    assert seen["opacity"] == [1, 1]
    assert seen["highlight"] == "all"  # a second click on the highlighted group returns
    assert seen["progress"] == 2  # incumbent and bound
    assert seen["svg"] == 6
    assert ["schedule,lane,start,end,group,faint,text", "scan: 12,lane,0,1,job,false,text"] in (
        seen["csv"]
    )
    assert len(seen["csv"]) == 7


NARROWED = """
addEventListener("load", async () => {
  const find = (selector) => document.querySelector(selector);
  const results = find("#every-result");
  const clipped = () => results.offsetWidth - results.parentElement.clientWidth;
  const resize = (width) => new Promise((go) => {
    addEventListener("resize", go, { once: true });
    frameElement.style.width = width;
  });
  const seen = { before: clipped() };
  await resize("1px");
  await resize("900px");
  seen.after = clipped();
  seen.rank = find("#every-result tbody th").getAttribute("role");
  await resize("360px");
  const role = (selector) => find(`#every-result ${selector}`).getAttribute("role");
  seen.roles = [results.getAttribute("role"), ...["thead", "tbody", "tbody tr", "thead th",
    "tbody th", "tbody td"].map(role)];
  seen.bare = results.querySelectorAll("tr:not([role]), th:not([role]), td:not([role])").length;
  seen.heads = getComputedStyle(find("#every-result thead")).display;
  parent.document.body.dataset.seen = JSON.stringify(seen);
});
"""


@needs_chromium
def test_columns_are_left_out_again_after_a_window_was_closed_and_cards_remain_a_table(
    page, browse
):
    inner = html.escape(page.replace("</body>", f"<script>{PATIENCE}{NARROWED}</script></body>"))
    frame = f'<iframe srcdoc="{inner}" style="width:900px;height:900px;border:0"></iframe>'
    seen = seen_of(browse(f"<!doctype html><title>empty</title><body>{frame}", SEEN))
    assert (seen["before"], seen["after"]) == (0, 0)
    assert seen["rank"] is None  # a table that is one needs no roles
    assert seen["roles"] == [
        "table", "rowgroup", "rowgroup", "row", "columnheader", "rowheader", "cell"
    ]  # fmt: skip
    assert seen["bare"] == 0
    assert seen["heads"] != "none"  # screen readers name the cells by them


INKS = """
window.matchMedia = () => ({ matches: DARK, addEventListener() {} });
addEventListener("load", async () => {
  const marks = () => document.querySelectorAll("[data-figure^=ratios] .point, .js-line");
  await until(() => document.querySelectorAll("[data-figure^=profile] .js-line").length > 1);
  const inks = [...marks()].flatMap((each) => [each.style.fill, each.style.stroke]);
  document.body.dataset.seen = JSON.stringify(inks.filter((each) => /^rgb\\(/.test(each)));
});
"""


@needs_chromium
@pytest.mark.parametrize(("dark", "background"), [("true", "#161617"), ("false", "#ffffff")])
def test_lines_and_dots_stand_out_from_the_page(
    run, tmp_path, monkeypatch, browse, dark, background
):
    faint = ("#5E1C41", "#EBE4B4", "#134B1C", "#C2EBF8")
    monkeypatch.setattr(
        pictures, "method_colors",
        lambda name, methods: dict(zip(sorted(methods), faint, strict=False)),
    )  # fmt: skip
    text = report.write_report([run], tmp_path / "report.html").read_text(encoding="utf-8")
    script = f"<script>{PATIENCE}{INKS.replace('DARK', dark)}</script>"
    inks = seen_of(browse(text.replace("</style>", f"</style>{script}", 1), SEEN))
    assert len(set(inks)) >= 3  # different colours remain different
    behind = luminance([int(background[place : place + 2], 16) for place in (1, 3, 5)])
    for ink in set(inks):
        pair = sorted((luminance([*map(int, re.findall(r"\d+", ink))]), behind))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 2.99, ink  # bytes are rounded


def luminance(parts):
    """Return the relative luminance of a colour, as WCAG 2.2 defines it."""
    shares = [part / 255 for part in parts]
    light = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
