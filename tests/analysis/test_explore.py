"""`explore`: a picture everywhere, and sliders in a notebook that has widgets."""

import subprocess
import sys
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

import schedgap as sg
from schedgap.analysis.solving import live
from schedgap.errors import UsageError

SHOWN = """
import schedgap as sg
found = sg.explore("ring", against="lpt-pack", jobs=4)
found
"""
MOVED = """
widget = found._widgets()
widget.children[1].value = 5
len(found.instance.jobs), [slider.description for slider in widget.children[:-1]]
"""
BLOCKED = "import sys; sys.modules['ipywidgets'] = None\n"
RESTORED = "del sys.modules['ipywidgets']"
WIDGET = "application/vnd.jupyter.widget-view+json"


def outputs(kernel: KernelManager, *code: str) -> list[list[Any]]:
    """Return the outputs of the cells in a kernel, without a client that draws widgets."""
    client = kernel.blocking_client()
    client.start_channels()
    found: list[list[Any]] = []
    try:
        client.wait_for_ready(timeout=60)
        for text in code:
            messages: list[Any] = []
            reply = client.execute_interactive(text, timeout=60, output_hook=messages.append)
            assert reply["content"]["status"] == "ok", reply["content"]
            found.append([each["content"] for each in messages if "data" in each["content"]])
    finally:
        client.stop_channels()
    return found


@pytest.mark.slow
def test_a_notebook_has_sliders_with_a_picture_for_pages_without_widgets(
    kernel: KernelManager,
) -> None:
    shown, moved = outputs(kernel, SHOWN, MOVED)
    picture, *_, sliders = (each["data"] for each in shown)  # converters prefer widgets to HTML
    assert WIDGET in sliders and "text/html" not in sliders
    assert "data:image/png;base64," in picture["text/html"] and WIDGET not in picture
    assert moved[-1]["data"]["text/plain"] == "(5, ['seed', 'jobs', 'servers'])"


@pytest.mark.slow
def test_a_notebook_without_widgets_has_the_picture(kernel: KernelManager) -> None:
    shown, _ = outputs(kernel, BLOCKED + SHOWN, RESTORED)
    assert len(shown) == 1 and WIDGET not in shown[-1]["data"]
    assert "data:image/png;base64," in shown[-1]["data"]["text/html"]


def test_a_script_needs_no_widgets() -> None:
    code = f"{BLOCKED}{SHOWN}print(found)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ring-small-seed1-jobs=4: sjf-bco feasible")
    assert not done.stderr


def test_an_explorer_draws_what_is_asked_for_and_says_the_ratio() -> None:
    found = sg.explore("ring", against="lpt-pack", jobs=4)
    first = found.instance
    assert len(first.jobs) == 4 and found.solution.method == "sjf-bco"
    assert found.ratio is not None and found.ratio.low <= found.ratio.high
    assert found.redraw(2, jobs=4).instance.sha256 != first.sha256
    assert found.redraw(1, jobs=4).instance.sha256 == first.sha256
    assert "<img" in found._repr_html_()


def test_sliders_draw_what_they_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sg.explore("ring", against="lpt-pack", seed=25, jobs=4, horizon=150)
    monkeypatch.setattr(live, "in_notebook", lambda: True)
    seed, jobs, servers, _ = found._widgets().children
    assert [(each.value, each.min, each.max) for each in (seed, jobs, servers)] == [
        (25, 0, 25), (4, 1, 12), (3, 1, 6)
    ]  # fmt: skip
    seed.value = 7
    assert found.instance.meta["seed"] == 7
    assert found.instance.meta["settings"] == {"jobs": 4, "horizon": 150}  # no defaults
    jobs.value = 6  # its default
    assert len(found.instance.jobs) == 6 and found.instance.meta["settings"]["horizon"] == 150
    before = found.instance
    capsys.readouterr()
    found._show({"jobs": -1})
    assert "jobs=-1: need an integer" in capsys.readouterr().out
    assert found.instance is before


def test_an_explorer_has_the_preset_and_the_method_that_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = sg.explore("ring", preset="toy", method="first-fit", against="area")
    assert (found.instance.name, found.solution.method) == ("ring-toy", "first-fit")
    assert found.reference.schedule is None and found.figure is not None
    assert found.ratio is not None and found.ratio.low == 1.0  # area is a bound
    monkeypatch.setattr(live, "in_notebook", lambda: True)
    assert len(found._widgets().children) == 1  # nothing can be changed: no slider


def test_unknown_names_are_one_line() -> None:
    with pytest.raises(UsageError, match="no preset 'tiny'"):
        sg.explore("ring", preset="tiny")
    with pytest.raises(UsageError, match="jobs"):
        sg.explore("ring", jobs="many")
    with pytest.raises(UsageError, match="nonsense"):
        sg.explore("ring", nonsense=3)
