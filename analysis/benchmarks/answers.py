"""Check what an engine answers, and what it reports during its run, with the program itself."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schedgap.analysis.benchmarks.formulation import CHECK
from schedgap.errors import ContradictionError
from schedgap.solvers.programs.arrays import Floats, LinearProgram


@dataclass(slots=True)
class Reports:
    """Incumbents and the best bound that an engine has reported; points without their zeros."""

    incumbents: list[tuple[float, NDArray[np.intp], Floats]] = field(default_factory=list)
    bound: float = -math.inf

    def add(self, objective: float, values: Floats) -> None:
        """Keep an incumbent.

        `values`: by column.
        """
        places = np.flatnonzero(values != 0)
        self.incumbents.append((objective, places, values[places]))

    def values(self, place: int, columns: int) -> Floats:
        """Return the values of the columns in an incumbent.

        `place`: of the incumbent. `columns`: how many the program has.
        """
        values = np.zeros(columns)
        _, places, entries = self.incumbents[place]
        values[places] = entries
        return values


class Checks:
    """The rows, sides and costs of a program, by which values of its columns are checked.

    `factor`: times an objective of the program is one of the instance. `is_linear`: whether the
    objective is. `engine`: named in messages.
    """

    def __init__(self, program: LinearProgram, factor: float, is_linear: bool, engine: str) -> None:
        self.program, self.factor, self.is_linear, self.engine = program, factor, is_linear, engine

    def values(self, values: Floats, objective: float | None, which: str = "its values") -> None:
        """Check the values of the columns, and the objective that the engine states of them.

        `which`: names the values in messages.

        Raises
        ------
        ContradictionError
            If values break a linear row or a side, or do not have the objective, by more than
            `CHECK` (relative).
        """
        program = self.program
        for what, body, low, high in (
            ("row", program.matrix @ values, program.row_lower, program.row_upper),
            ("bound of column", values, program.lower, program.upper),
        ):
            past = np.maximum(low - body, body - high)
            if not (past > CHECK).any():
                continue
            size = abs(program.matrix) @ abs(values) if what == "row" else abs(values)
            past -= CHECK * np.maximum(1.0, size)
            if float(past.max()) > 0:
                place = int(past.argmax())
                by = float(max(low[place] - body[place], body[place] - high[place]))
                raise ContradictionError(f"{self.engine}: {which} break {what} {place} by {by:.3g}")
        if self.is_linear and objective is not None:
            own = program.objective(values)
            if abs(own - objective) > CHECK * max(1.0, abs(own)):
                raise ContradictionError(
                    f"{self.engine} states the objective {self._stated(objective)}, but {which} "
                    f"have {self._stated(own)}"
                )

    def incumbents(self, reports: Reports) -> None:
        """Check each incumbent that the engine has reported.

        Raises
        ------
        ContradictionError
            If the values of one break a row or a side, or do not have its objective.
        """
        for place, (value, *_) in enumerate(reports.incumbents):
            columns = len(self.program.cost)
            self.values(reports.values(place, columns), value, "the values that it reported")

    def reports(self, reports: Reports, objective: float | None) -> None:
        """Check what the engine has reported against the objective that it states at its end.

        Raises
        ------
        ContradictionError
            If an incumbent is wrong by itself, or better than the answer, or a bound is past it.
        """
        self.incumbents(reports)
        best = min((value for value, *_ in reports.incumbents), default=math.inf)
        if objective is None:
            return
        near = CHECK * max(1.0, abs(objective))
        for what, value, past in (
            ("an incumbent of", best, objective - best),
            ("the bound", reports.bound, reports.bound - objective),
        ):
            if past > near:
                raise ContradictionError(
                    f"{self.engine} reported {what} {self._stated(value)}, and then states the "
                    f"objective {self._stated(objective)}"
                )

    def _stated(self, value: float) -> str:
        return f"{self.factor * value:.10g}"
