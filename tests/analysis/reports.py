"""Runs and pages of reports, and a reader of pages, for the tests of the report."""

import base64
import gzip
import json
from html.parser import HTMLParser

import pytest
import toy_family
from toy_family import toy

from schedgap.analysis.records.folder import Folder
from schedgap.analysis.report import page as report

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>\"'&%{x}"


def proof_claim(kind):
    """Return the claim of a proof; a tree names its file."""
    file = {"file": "a.proof.json.gz", "sha256": "0" * 64} if kind == "tree" else {}
    return {"kind": kind} | file


def store(run, instance, method, *, objective=None, bound=None, place=0, proof="tree", **more):
    """Put one record into a run folder, as a comparison would."""
    folder = Folder(run)
    folder.create()
    folder.store_instance(instance)
    kind, status = more.pop("kind", "algorithm"), more.pop("status", "feasible")
    sense = getattr(instance, "sense", "min")
    outcome = more.get("outcome", "done")
    schedule = more.pop("schedule", {"place": place})
    solution = {
        "family": instance.family, "version": 1, "instance": instance.name,
        "instance_sha256": instance.sha256, "method": method, "engine": None, "kind": kind,
        "options": {}, "seed": None, "status": status, "sense": sense, "objective": objective,
        "bound": bound, "seconds": 0.25, "schedule": None if objective is None else schedule,
        "trace": {}, "versions": {}, "proof": proof_claim(proof),
    }  # fmt: skip
    key = f"{instance.sha256[:8]}-{method}"
    folder.store(
        {
            "key": key, "outcome": outcome, "message": "", "method": method, "label": method,
            "instance": {
                "name": instance.name, "family": instance.family, "sha256": instance.sha256
            },
            "kind": kind, "engine": None, "options": {"log": ""}, "seed": None, "problem": "",
            "sense": sense, "time_limit": 60.0, "versions": {"schedgap": "0.1.0"},
            "solution": None if objective is None and bound is None else solution,
            "certificate": {"kind": "toy", "value": bound} if proof == "certificate" else None,
        } | more
    )  # fmt: skip


@pytest.fixture(scope="module", name="run")
def made_run(tmp_path_factory):
    """Return a run of four instances.

    even: 10 proved, `first` 15 = 1.5 times. wide: best 12, bound 10, so within 20 %; `first` 15 is
    between 15 / 12 = 1.25 and 15 / 10 = 1.5 times. free: 7 without a bound. lost: nothing.
    """
    folder = tmp_path_factory.mktemp("report") / "run"
    even, wide = toy(15, 10, name=HOSTILE), toy(15, 12, 10.5, name="wide")
    free, lost = toy(7, 8, name="free"), toy(1, name="lost")
    store(folder, even, "scan", kind="exact", objective=10.0, bound=10.0, place=1, status="optimal",
          progress=[[0.1, 15.0, None], [0.2, 10.0, 9.0], [0.25, 10.0, 10.0]])  # fmt: skip
    store(folder, wide, "scan", kind="exact", objective=12.0, bound=10.0, place=1)
    store(folder, even, "first", objective=15.0)
    store(folder, wide, "first", objective=15.0)
    store(folder, free, "first", objective=7.0)
    store(folder, even, "below", kind="bound", bound=9.75, status="bound")
    store(folder, lost, "scan", kind="exact", outcome="timeout", message=f"stopped: {HOSTILE}")
    store(folder, lost, "picky", kind="exact", outcome="skipped", message="needs three values")
    return folder


@pytest.fixture(scope="module", name="page")
def made_page(run):
    toy_family.register()
    try:
        return report.write_report([run], run / "report.html").read_text(encoding="utf-8")
    finally:
        toy_family.unregister()


class Reader(HTMLParser):
    """Collects elements, attributes and the text of scripts, and checks that all are closed."""

    VOID = frozenset({"meta", "input", "path", "link", "br", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.scripts, self.rows, self.text = [], [], [], [], []
        self.packed = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        attributes = self.elements[-1][1] if self.elements else {}
        if attributes.get("type") == "application/gzip" and "script" in self.open:
            self.packed.setdefault(attributes["id"], []).append(text)
        elif "script" in self.open:
            self.scripts.append(text)
        elif "style" not in self.open:
            self.text.append(text)
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] += text

    def data(self):
        return json.loads(next(text for text in self.scripts if text.startswith('{"figures"')))

    def unpacked(self, key):
        """Return a text that the page unpacks when it shows it."""
        (text,) = self.packed[f"packed-{key}"]
        return gzip.decompress(base64.b64decode(text)).decode()
