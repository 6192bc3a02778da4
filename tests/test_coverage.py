"""What `make coverage` measures: also a child process that never comes to its own end."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

from coverage import CoverageData

from schedgap.solvers.children import worker

ROOT = Path(__file__).resolve().parents[1]
TOP = """
import os, time
from pathlib import Path
from coverage import CoverageData, CoverageException
from schedgap.solvers.children.processes import run_child

def written(file):  # the file is there before what is in it
    data = CoverageData(basename=str(file))
    try:
        data.read()
        return bool(data.measured_files())
    except CoverageException:  # not yet, or its journal
        return False

def wait(send, folder):  # for data of this process: the other one leaves none
    while not any(written(each) for each in Path(folder).glob("data.*")):
        time.sleep(0.1)

if __name__ == "__main__":
    run_child("top:wait", os.path.dirname(__file__), limit=100).result()
    os.kill(os.getpid(), 9)
"""


def test_a_child_that_is_killed_has_been_measured(tmp_path: Path) -> None:
    (tmp_path / "top.py").write_text(TOP)
    foreign = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START", "SCHEDGAP_CHILD_DEPTH")
    environment = {name: value for name, value in os.environ.items() if name not in foreign}
    environment |= {"PYTHONPATH": str(ROOT / "tests"), "COVERAGE_FILE": str(tmp_path / "data")}
    command = [sys.executable, "-m", "coverage", "run", str(tmp_path / "top.py")]
    subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=120)
    seen: set[int] = set()
    for file in tmp_path.glob("data.*"):
        data = CoverageData(basename=str(file))
        data.read()
        for name in data.measured_files():
            if Path(name).samefile(worker.__file__):
                seen |= {*(data.lines(name) or ())}
    lines, first = inspect.getsourcelines(worker._serve)
    assert seen & set(range(first + 1, first + len(lines)))
