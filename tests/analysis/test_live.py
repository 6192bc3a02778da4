"""The bar of `solve` and `compare`: in a notebook, and nowhere else."""

import subprocess
import sys
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

BOTH = """
import schedgap as sg
toy = sg.generate("ring", preset="toy")
sg.solve(toy, "sjf-bco")
run = sg.compare([toy], methods=["sjf-bco", "area"], workers=1)
"""


def shown(code: str, kernel: KernelManager) -> list[dict[str, Any]]:
    """Return the content of every message that a kernel displays or updates."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client, contents = NotebookClient(notebook, timeout=120, km=kernel), []
    process = client.process_message

    def recorded(message: Any, *rest: Any) -> Any:
        if message["msg_type"] in ("display_data", "update_display_data"):
            contents.append(message["content"]["data"])
        return process(message, *rest)

    client.process_message = recorded
    client.execute()
    return contents


@pytest.mark.slow
def test_a_notebook_shows_a_bar_while_a_method_runs_and_while_methods_are_compared(
    kernel: KernelManager,
) -> None:
    texts = [data["text/plain"] for data in shown(BOTH, kernel)]
    assert texts[0].startswith("sjf-bco on ring-toy")
    assert "" in texts  # the bar of solve is removed
    assert any(text.startswith("0/2 tasks") for text in texts)
    assert texts[-1].startswith("2/2 tasks, all finished")


@pytest.mark.slow
def test_callbacks_of_ones_own_replace_the_bar(kernel: KernelManager) -> None:
    code = BOTH.replace('"sjf-bco")\n', '"sjf-bco", on_message=print)\n')
    code = code.replace("workers=1)", "workers=1, on_record=lambda *_: None)")
    assert shown(code, kernel) == []


def test_a_script_shows_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", BOTH], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
