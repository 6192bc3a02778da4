"""Instances without a schedule: a reason of the family ends every method before it begins."""

from typing import Any

import pytest

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.instance import Instance
from schedgap.models import Family, Method, families, family
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.edge_examples import TOY_C
from strategies.elastic import instance_of as elastic_instance
from strategies.elastic_examples import J1
from strategies.hare_examples import TWO_GPUS
from strategies.ring_examples import instance_of as ring_instance
from strategies.ring_examples import job

# Of each family: an instance, options and the reason why it has no schedule with them.
REFUTED: dict[str, tuple[Instance, dict[str, Any], str]] = {
    "edge": (
        EdgeInstance.from_data(TOY_C.to_data() | {"horizon": 4}),
        {},
        "job j1 cannot end by slot 4",
    ),
    "elastic": (
        elastic_instance([J1], horizon=2, horizon_policy="closed"),
        {},
        "job j1 cannot end by slot 2",
    ),
    "hare": (
        TWO_GPUS,
        {"synchronization": "fixed"},
        "a round of 7 tasks cannot start together on 2 GPUs",
    ),
    "ring": (
        ring_instance([job("a", 4, 24, 4 / 3)], [3]),
        {},
        "job a asks for 4 GPUs, there are 3",
    ),
}


def _cases(*, proving: bool) -> list[Any]:
    """Return the methods that solve the variant and support the instance."""
    return [
        pytest.param(family(name), method, id=f"{name}-{method.name}")
        for name, (instance, options, _) in REFUTED.items()
        for method in family(name).methods
        if set(options) <= {option.name for option in method.options}
        and not method.unsupported_reason(instance)
        and method.proves_infeasible == proving
    ]


def _run(owner: Family, method: Method) -> Any:
    instance, options, _ = REFUTED[owner.name]
    engine = None if method.runs_children else next(iter(method.engines), None)
    call = RunContext(method.parse(options), engine, Budget(Clock(0.0)), NullProgress())
    return owner.run(method, instance, call)


@pytest.mark.parametrize(("owner", "method"), _cases(proving=True))
def test_a_reason_ends_every_method_before_it_begins(owner: Family, method: Method) -> None:
    outcome = _run(owner, method)
    assert outcome.infeasible and outcome.note == REFUTED[owner.name][2]
    assert outcome.schedule is None and not outcome.trace


@pytest.mark.parametrize(("owner", "method"), _cases(proving=False))
def test_a_method_that_leaves_out_rules_is_not_asked(owner: Family, method: Method) -> None:
    outcome = _run(owner, method)
    assert not outcome.infeasible and outcome.note != REFUTED[owner.name][2]


def test_the_methods_that_leave_out_rules_are_those_of_preemption() -> None:
    named = [method.name for owner in families() for method in owner.methods
             if not method.proves_infeasible]  # fmt: skip
    assert named == ["preemptive", "preemptive-overhead"]


def test_only_fixed_synchronization_can_have_no_schedule() -> None:
    assert family("hare").refute(TWO_GPUS, {"synchronization": "relaxed"}) is None
    assert family("hare").refute(TWO_GPUS, {}) is None
