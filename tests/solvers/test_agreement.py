"""Two engines asked about random programs: they agree only where there is no solution."""

import random
from dataclasses import replace

from schedgap.solvers import Clock
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.proofs.agreement import agree
from schedgap.solvers.proofs.checker import IntegerProgram
from tests.solvers.test_proofs import draw


def agreed(send: object, program: IntegerProgram) -> bool:
    """Run in a child, because this process may have loaded another engine."""
    return agree(program, clock=Clock(60))


def asked(program: IntegerProgram) -> bool:
    answer: bool = run_child(f"{__name__}:agreed", program, engine="highs").result()
    return answer


def test_engines_agree_exactly_below_the_optimum() -> None:
    rng = random.Random(5)
    seen = 0
    while seen < 12:
        program, best = draw(rng)
        if best is None:
            continue
        seen += 1
        assert asked(replace(program, goal=best - 1))
        assert not asked(replace(program, goal=best))


def test_numbers_that_are_no_doubles_are_not_asked_about() -> None:
    program = IntegerProgram([1], [0], [1], [({0: 2**60}, 1, None)], -1)
    assert not asked(program)
