"""The system's Chromium, which runs the scripts of a page without a network."""

import shutil
import subprocess

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


# The browser's time is virtual and runs ahead of threads that unpack data: wait by computing.
PATIENCE = """
const wait = () => new Promise((go) => setTimeout(() => {
  let sum = 0;
  for (let k = 0; k < 3e6; k += 1) sum += k;
  go(sum);
}, 20));
const until = async (ready) => {
  for (let turn = 0; turn < 500 && !ready(); turn += 1) await wait();
};
"""

needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")


def browse(page, tmp_path, *options):
    """Let a browser that cannot reach a network run the scripts of a page."""
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [
        CHROMIUM, "--headless", "--window-size=1400,9000",
        "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-quic", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000",
        f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", *options,
        f"file://{file}",
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
