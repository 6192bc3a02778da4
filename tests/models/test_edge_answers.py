"""Engine answers that stand for no schedule: dropped and counted, never taken or asserted on."""

from dataclasses import replace
from itertools import count
from types import ModuleType

import numpy as np
import pytest

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import rules
from schedgap.models.edge.exact.build_programs import milp_literal, set_packing
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.edge.programs import columns, printed, time_indexed
from schedgap.models.method import Budget, RunContext
from schedgap.models.program import BuiltProgram, Known, program_stage
from schedgap.solvers import Clock
from strategies.edge import instance_of
from strategies.edge_examples import TOY_A, TOY_BATCH, TOY_C
from strategies.edge_methods import Silence

MODULES = (printed, columns)
MANY = 10**8
# Two servers of 10^8 workers: within 1e-7 of an integer there is room for ten workers more.
WIDE = instance_of(
    [
        {
            "arrival": 3, "epochs": 2, "chunks": MANY - 1, "compute_seconds": 10.00001,
            "gradient_megabytes": 1.0, "transfer_delay": {"s0": 0, "s1": 0},
        },
        {
            "arrival": 2, "chunks": 2 * MANY, "minibatches_per_chunk": 2, "compute_seconds": 10.0,
            "gradient_megabytes": 30.0, "transfer_delay": {"s0": 1, "s1": 1},
        },
    ],
    horizon=12,
    slot_seconds=10.0,
    servers=[
        {"id": "s0", "kind": "edge", "workers": {"gpu": MANY + 1}, "parameter_servers": {"cpu": 1}},
        {"id": "s1", "kind": "edge", "workers": {"gpu": MANY - 1}, "parameter_servers": {"cpu": 1}},
    ],
)  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("instance", [TOY_A, TOY_BATCH])
def test_values_that_are_no_schedule_are_none(module: ModuleType, instance: EdgeInstance) -> None:
    """All variables at their upper bounds: every job many times over, or a PS on every server."""
    import pyomo.environ as pyo

    model = module.build(instance)
    for var in model.component_data_objects(pyo.Var):
        var.set_value(1.0, skip_validation=True)
    assert module.read(model, instance) is None


@pytest.mark.parametrize("module", MODULES)
def test_no_job_at_all_is_a_schedule_of_a_batch_only(module: ModuleType) -> None:
    import pyomo.environ as pyo

    for instance in (TOY_A, TOY_BATCH):
        model = module.build(instance)
        for var in model.component_data_objects(pyo.Var):
            var.set_value(0.0)
        assert (module.read(model, instance) is not None) == instance.is_batch


def test_arrays_of_values_that_are_no_schedule_are_none() -> None:
    """A start with workers but without a PS, workers of a start that is not chosen, and both."""
    program = time_indexed.build(TOY_A)
    for kinds in ((0, 1, 2), (2,), (0, 1, 2, 3), ()):
        values = np.isin(program.kind, kinds).astype(float)
        assert time_indexed.read(program, TOY_A, values) is None


def test_what_is_dropped_is_counted() -> None:
    """The first answer is lost; no bound rests on it, and the optimum is found all the same."""

    def build(instance: EdgeInstance, known: object) -> BuiltProgram[EdgeSchedule]:
        honest, answers = set_packing(instance), count()
        return replace(honest, read=lambda values: honest.read(values) if next(answers) else None)

    found = initial_state(TOY_C, RunContext({}, None, Budget(Clock(60)), Silence()))
    program_stage(found, build, TOY_C, Known(None), {}, "highs", budget=Budget(Clock(60)))
    outcome = found.outcome()
    assert outcome.trace["dropped"].startswith("1 answer")
    assert outcome.bound == 6 and found.upper in (None, 6)


def test_coefficients_beyond_an_engine_s_tolerance_end_in_a_proof_or_in_none() -> None:
    """HiGHS takes a run that lacks a few of 2 x 10^8 worker-slots for a long enough one."""
    found = initial_state(WIDE, RunContext({}, None, Budget(Clock(60)), Silence()))
    program_stage(found, milp_literal, WIDE, Known(None), {}, "highs", budget=Budget(Clock(30)))
    outcome = found.outcome()
    assert found.lower <= 6 <= (found.upper or 6)
    data = outcome.schedule.to_data(WIDE)
    assert list(rules.check(WIDE, data, {})) == []
