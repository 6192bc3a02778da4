"""Family `template`: jobs on identical machines, to be replaced part by part."""

from pathlib import Path

import schedgap.extend as sg
from schedgap.template import rules
from schedgap.template.instance import TemplateInstance, TemplateSchedule


def _at(name: str) -> sg.Lazy:
    """Refer to a function that is imported when it is first called."""
    return sg.Lazy(f"{__name__}.{name}")


METHODS: tuple[sg.Method[TemplateInstance, TemplateSchedule], ...] = (
    sg.Method("exact", "exact", _at("exact:exact"), "longest-first, the bound, then the program",
              "ours", ours=True, engines=("highs",)),
    sg.Method("pigeonhole", "bound", _at("exact:pigeonhole"), "some machine has k/m of k jobs",
              "ours", ours=True),
    sg.Method("longest-first", "algorithm", sg.Algorithm(_at("algorithms:longest_first")),
              "list scheduling by decreasing time", "Section 5"),
    sg.Method("listed", "baseline", sg.Algorithm(_at("algorithms:listed")),
              "list scheduling in the order of the file", "Section 2"),
)  # fmt: skip

FAMILY: sg.Family[TemplateInstance, TemplateSchedule] = sg.Family(
    name="template",
    title=TemplateInstance.title,
    paper=sg.load_paper(Path(__file__).with_name("paper.toml")),
    methods=METHODS,
    sense=lambda instance: "min",
    check=rules.check,
    objective=rules.objective,
    chart=rules.chart,
    grid=lambda instance: 1.0,
    check_certificate=_at("exact:check_certificate"),
    programs={
        "assignment": sg.Program("jobs to machines", "exact", _at("program:assignment"),
                                 read=_at("program:read"), also=("paper",)),
    },
    instances=TemplateInstance,
    generator=sg.load_presets(Path(__file__).with_name("presets.toml")),
)  # fmt: skip
