"""The exercises of the notebooks, each with its question and its grader."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import schedgap as sg
from schedgap.analysis.pages.listing import Listing
from schedgap.errors import UsageError
from schedgap.instances.arguments import a_text, checked
from schedgap.instances.instance import Instance
from schedgap.teach.answers import Feedback, Grader, example, number, pair, schedule, word

LIMIT = 120.0  # seconds for each solve of a toy, which needs one; a wrong optimum grades wrongly
STUDENT_LIMIT = 20.0  # seconds for the instance of a student


class Exercise(NamedTuple):
    """A question, and the function that grades an answer."""

    question: str
    grade: Grader


@cache
def toy(family: str) -> Any:  # an instance, whose class depends on the family
    """Return the family's smallest instance."""
    return sg.generate(family, preset="toy")


@cache
def value(family: str, method: str) -> float:
    """Return the objective of a method on the toy."""
    return _objective(toy(family), method)


def _objective(instance: Instance, method: str) -> float:
    solution = sg.solve(instance, method, time_limit=LIMIT)
    if solution.objective is None:
        raise UsageError(f"{method} found no schedule of {instance.name} in {LIMIT:g} s")
    return solution.objective


# tour
PAPERS = {
    "hare": "hare",
    "elastic": "a-online",
    "edge": "a-online",
    "ring": "sjf-bco",
    "dmlrs": "pd-ors",
}


def _toy_ratio(family: str) -> float:
    best, paper = value(family, EXACT.get(family, "exact")), value(family, PAPERS[family])
    return max(paper / best, best / paper)


EXACT = {"hare": "big-m"}  # proved fastest on the toy


# ring
def _ring_end(start: int) -> float:
    from schedgap.steps.ring import rate_table, simulate

    ends = simulate(rate_table(toy("ring")), [1, start], [(0, 1), (1, 2)])
    return float(max(int(end or 0) for end in ends))


# hare
def _lp_bound(family: str, name: str) -> float:
    solution = sg.solve(toy(family), sg.model(toy(family), name, relax=True), time_limit=LIMIT)
    if solution.bound is None:
        raise UsageError(f"{name} was not solved in {LIMIT:g} s")
    return solution.bound


@cache
def _gap(family: str, name: str) -> float:
    return value(family, EXACT.get(family, "exact")) / _lp_bound(family, name)


@cache
def _ce2(lights: int) -> float:
    one = sg.generate("hare", preset="ce2", settings={"lights": lights})
    return _objective(one, "hare") / _objective(one, "hare-prefix")  # one GPU: this is optimal


# edge
def _theta() -> float:
    one = toy("edge")
    scale = 2 * one.horizon * len(one.servers) * len(one.worker_types)
    return float(scale * one.price_caps.worker + 1)


# worst cases
def _bad_ring(instance: Instance) -> str:
    if not isinstance(instance, sg.RingInstance):
        return f"This is an instance of {instance.family}, not of ring."
    if len(instance.jobs) > 4:
        return f"It has {len(instance.jobs)} jobs; at most 4 are allowed."
    paper = _objective(instance, "sjf-bco")
    best = sg.solve(instance, "exact", time_limit=STUDENT_LIMIT)
    if best.objective is None:
        return f"No schedule was found in {STUDENT_LIMIT:g} s. Take a smaller instance."
    ratio = paper / best.objective
    if ratio >= 1.5 - 1e-9:
        return ""
    known = f"a schedule of {best.objective:g} is known"
    return f"SJF-BCO needs {paper:g} slots, and {known}: the ratio is {ratio:.4g}."


# benchmarking
@cache
def _record(name: str) -> dict[str, Any]:
    """Return the row of an instance in the record book."""
    (row,) = sg.records(name).rows()
    return row


# your own
def _rule(answer: object) -> str:
    if not callable(answer):
        return "The answer is a function from an instance to a schedule."
    for seed in (1, 2):
        one = sg.generate("hare", preset="small", seed=seed, settings={"jobs": 3})
        try:
            plan = answer(one)
            verdict = sg.verify(one, plan)
        except Exception as error:  # noqa: BLE001 (any error of the student's function)
            return f"On {one.name} the function fails: {type(error).__name__}: {error}"
        if not verdict.feasible:
            first = verdict.violations[0]
            return f"On {one.name} the schedule breaks {first.rule}: {first.message}"
        assert verdict.objective is not None
        limit = 2 * _objective(one, "srtf")
        if verdict.objective > limit:
            return f"On {one.name} the rule gives {verdict.objective:g}; reach {limit:g} or less."
    return ""


def _broken_rule() -> str:
    plan = {"assignments": [dict(row) for row in OVERLAP]}
    return sg.verify(toy("hare"), plan).violations[0].rule


OVERLAP: tuple[Mapping[str, Any], ...] = tuple(
    dict(zip(("job", "round", "task", "gpu", "start"), row, strict=True))
    for row in (
        ("J1", 1, 1, "GPU2", 0),
        ("J1", 1, 2, "GPU2", 1),
        ("J2", 1, 1, "GPU1", 0),
        ("J2", 2, 1, "GPU1", 1.5),
        ("J3", 1, 1, "GPU3", 0),
        ("J3", 1, 2, "GPU3", 0.5),
        ("J3", 2, 1, "GPU3", 1),
        ("J3", 2, 2, "GPU3", 1.5),
    )
)


# formulations
@cache
def _roots() -> dict[str, float]:
    frame = sg.formulations(toy("ring"), best=value("ring", "exact"), time_limit=LIMIT)
    frame = frame[frame["root_gap"].notna()]
    return dict(zip(frame["model"], frame["root_gap"], strict=True))


@cache
def _rows() -> float:
    return float(len(sg.model(toy("hare"), "big-m").eq_5))


# proofs
def _three_items(answer: object) -> str:
    from schedgap.proof import IntegerProgram, ProgramSpace, RefusedError, check_tree

    row = ({0: 5, 1: 6, 2: 8}, None, 10)
    program = IntegerProgram([-5, -6, -8], [0, 0, 0], [1, 1, 1], [row], goal=-9)
    if not isinstance(answer, Mapping) or not {"vectors", "tree"} <= answer.keys():
        return 'The answer is a dict with the keys "vectors" and "tree".'
    try:
        check_tree(ProgramSpace(program), answer)
    except RefusedError as error:
        return f"The checker refuses the proof: {error}"
    except (KeyError, IndexError, TypeError, ValueError) as error:
        return f"The checker cannot read the proof: {type(error).__name__}: {error}"
    return ""


EXERCISES: dict[str, Exercise] = {
    "tour-1": Exercise(
        "dmlrs maximises. PD-ORS earns 12 on the toy and the optimum is 20. What is the ratio?",
        number(
            lambda: _toy_ratio("dmlrs"),
            "Divide the optimum by what PD-ORS earns.",
            inverse=(0.6, "A ratio is at least 1. Divide the optimum by the schedule's value."),
        ),
    ),
    "tour-2": Exercise(
        "On which toy is the paper's algorithm farthest from the optimum, as a ratio?",
        word(
            lambda: max(PAPERS, key=_toy_ratio),
            lambda: PAPERS,
            {"": "Another toy has a larger ratio. Compare the five ratios."},
        ),
    ),
    "tour-3": Exercise(
        "A schedule costs 6. A certificate proves that none costs less than 4. Another schedule "
        "costs 5. Between which numbers is the first schedule's ratio to the optimum? (low, high)",
        pair(
            lambda: (6 / 5, 6 / 4),
            "The optimum is at most 5, so the ratio is at least 6 / 5.",
            "The optimum is at least 4, so the ratio is at most 6 / 4.",
        ),
    ),
    "ring-1": Exercise(
        "On the toy, ring b starts in slot 2. In which slot does the last ring end?",
        number(
            lambda: _ring_end(2),
            "Slot 1 gives ring a 7 iterations. From slot 2 on, each ring makes 3 in a slot.",
            last_of_a=(7, "Ring a ends then. Ring b still has iterations left."),
            alone=(5, "The rings share a server, so each makes 3 iterations in a slot, not 7."),
        ),
    ),
    "ring-2": Exercise(
        "Section 4 adds one job of m slots to m (m - 1) jobs of one slot. What ratio results "
        "for m = 5 GPUs?",
        number(
            lambda: 2 - 1 / 5,
            "All short jobs together take m - 1 slots; then the long job starts.",
            theorem=(1, "This is what Theorem 5 claims; the schedule is longer."),
            limit=(2, "The ratio tends to 2, but is less for every m."),
        ),
    ),
    "ring-3": Exercise(
        "Write down a schedule of the ring toy whose makespan is 7.",
        schedule(lambda: toy("ring"), lambda: value("ring", "exact"), "min"),
    ),
    "hare-1": Exercise(
        "Write down a schedule of the hare toy whose total weighted completion time is 8.",
        schedule(lambda: toy("hare"), lambda: value("hare", "big-m"), "min"),
    ),
    "hare-2": Exercise(
        "What is the integrality gap of `big-m` on the toy: optimum / bound of its linear "
        "relaxation?",
        number(
            lambda: _gap("hare", "big-m"),
            'Solve sg.model(toy, "big-m", relax=True), and divide 8 by its optimum.',
            inverse=(lambda: 1 / _gap("hare", "big-m"), "This is bound / optimum. Invert it."),
        ),
    ),
    "hare-3": Exercise(
        "How large is the ratio of the printed algorithm on `ce2` with 20 light jobs?",
        number(
            lambda: _ce2(20),
            'Generate it with settings={"lights": 20}.',
            guarantee=(3, "This is the guarantee that ce2 refutes."),
            default=(lambda: _ce2(10), "This is the ratio for 10 light jobs."),
        ),
    ),
    "edge-1": Exercise(
        "What is theta of the edge toy? Use (7): theta = 2 T S U F_1 + 1.",
        number(
            _theta,
            "T is the horizon, S the number of servers with the cloud, U of worker types.",
            no_one=(lambda: _theta() - 1, "This is 2 T S U F_1; theta is one more."),
            no_two=(lambda: (_theta() - 1) / 2 + 1, "The factor 2 is missing."),
        ),
    ),
    "edge-2": Exercise(
        "A server of the toy has 2 workers, one is in use. What does the other cost per slot?",
        number(
            lambda: _theta() ** 0.5 - 1,
            "The price is theta to the power of the used fraction, minus 1.",
            full=(lambda: _theta() - 1, "This is the price if both workers are in use."),
            no_one=(lambda: _theta() ** 0.5, "Subtract 1: an idle server costs 0."),
        ),
    ),
    "edge-3": Exercise(
        "Write down a schedule of the edge toy whose sum of c - a is 5.",
        schedule(lambda: toy("edge"), lambda: value("edge", "exact"), "min"),
    ),
    "elastic-1": Exercise(
        "The optimum of `introduction` is 13.5 in the paper's measure. What is the true average "
        "completion time of the two jobs, in ms?",
        number(
            lambda: 12.5,
            "One job ends after 10 ms, the other after 15 ms.",
            paper=(13.5, "The paper counts start + duration, one slot after the end."),
            serial=(15, "This is the average if both jobs take two GPUs, one after the other."),
        ),
    ),
    "elastic-2": Exercise(
        "A resource costs lambda^(used fraction) - 1. What is its price at half load, if it is "
        "99 when everything is used?",
        number(
            lambda: 9,
            "Find lambda first: lambda - 1 = 99.",
            linear=(49.5, "The price grows exponentially, not linearly."),
            no_one=(10, "Subtract 1: an idle resource costs 0."),
        ),
    ),
    "elastic-3": Exercise(
        "Write down a schedule of the elastic toy whose objective is 27.",
        schedule(lambda: toy("elastic"), lambda: value("elastic", "exact"), "min"),
    ),
    "dmlrs-1": Exercise(
        "A GPU costs L (U/L)^load with L = 0.01 and U = 8. What does it cost at half load?",
        number(
            lambda: 0.01 * 800**0.5,
            "Insert 1/2 for the load.",
            linear=(4.005, "The price grows exponentially, not linearly."),
        ),
    ),
    "dmlrs-2": Exercise(
        "Which job of the toy has less utility under PD-ORS than in the optimum?",
        word(
            lambda: "j3",
            lambda: [job.id for job in toy("dmlrs").jobs],
            {"": "This job has the same utility in both. Compare the slots in which jobs end."},
        ),
    ),
    "dmlrs-3": Exercise(
        "Write down a schedule of the dmlrs toy with a total utility of 20.",
        schedule(lambda: toy("dmlrs"), lambda: value("dmlrs", "exact"), "max"),
    ),
    "formulations-1": Exercise(
        "How many rows does `eq_5` have in the paper's program of the hare toy?",
        number(
            _rows,
            "There is one row for each task: every task runs on exactly one GPU.",
            jobs=(3, "This is the number of jobs; count tasks of all rounds."),
        ),
    ),
    "formulations-2": Exercise(
        "Which program of the ring toy has the smaller root gap?",
        word(
            lambda: min(_roots(), key=lambda name: _roots()[name]),
            lambda: _roots(),
            {"": "Its linear relaxation is farther from the optimum. Compare `root_gap`."},
        ),
    ),
    "formulations-3": Exercise(
        "A program for minimisation has the optimum 8 and the LP bound 5. What is its root gap "
        "as `sg.formulations` defines it?",
        number(
            lambda: 3 / 8,
            "The root gap is (optimum - bound) / optimum.",
            bound=(3 / 5, "Divide by the optimum, not by the bound."),
            ratio=(8 / 5, "This is the integrality gap, a ratio; the root gap is a difference."),
        ),
    ),
    "optimal-1": Exercise(
        "An engine reports a schedule of 100 and the bound 99.2. All schedules have integer "
        "values. What is the best value that is still possible?",
        number(
            lambda: 100,
            "Round the bound up to the next integer.",
            bound=(99.2, "No schedule has this value: values are integers."),
            down=(99, "99 is below the bound 99.2."),
        ),
    ),
    "optimal-2": Exercise(
        "The incumbent is 50 and the bound 48, minimising. What is the relative gap to the "
        "incumbent?",
        number(
            lambda: 2 / 50,
            "Divide the difference by the incumbent.",
            bound=(2 / 48, "Divide by the incumbent, not by the bound."),
            percent=(4, "This is the gap in per cent."),
        ),
    ),
    "optimal-3": Exercise(
        "An engine says `optimal`; no certificate and no proof file exist. Is the optimum "
        "reported, certified, proved or refuted?",
        word(
            lambda: "reported",
            lambda: ("reported", "certified", "proved", "refuted"),
            {
                "certified": "A certificate would be prices that give the bound again.",
                "proved": "A proof would be a file that the checker accepts.",
                "refuted": "Nothing contradicts the engine.",
            },
        ),
    ),
    "proofs-1": Exercise(
        "All costs are integers, and a schedule costs 40. Which goal must the proof refute?",
        number(
            lambda: 39,
            "A better schedule costs at least one unit less.",
            same=(40, "A schedule of 40 exists, so a goal of 40 cannot be refuted."),
        ),
    ),
    "proofs-2": Exercise(
        "Three items of sizes 5, 6 and 8, room for 10: write a proof that no choice fills 9 or "
        "more. Give a dict with `vectors` and `tree`.",
        _three_items,
    ),
    "proofs-3": Exercise(
        "A full binary tree of a proof has 7 branches. How many leaves does it have?",
        number(
            lambda: 8,
            "Every branch replaces one leaf by two.",
            branches=(7, "A tree without a branch has one leaf already."),
        ),
    ),
    "worst-1": Exercise(
        "Build an instance of ring with at most 4 jobs on which SJF-BCO takes at least 1.5 times "
        "the optimum.",
        example(_bad_ring),
    ),
    "worst-2": Exercise(
        "Graham's bound for list scheduling on m machines is 2 - 1/m. What is it for m = 3?",
        number(lambda: 5 / 3, "Insert 3 for m."),
    ),
    "worst-3": Exercise(
        "A search found the ratio 1.9; the paper proves at most 2. What does the search show "
        "about the paper's theorem: proved, refuted or open?",
        word(
            lambda: "open",
            lambda: ("proved", "refuted", "open"),
            {
                "proved": "A search that finds nothing worse is no proof.",
                "refuted": "1.9 does not exceed 2.",
            },
        ),
    ),
    "benchmarking-1": Exercise(
        "Three tasks take 1, 10 and 100 s. What is their geometric mean, shifted by 10 s?",
        number(
            lambda: math.exp((math.log(11) + math.log(20) + math.log(110)) / 3) - 10,
            "Add 10 to each, take the geometric mean, subtract 10.",
            plain=(10, "This is the geometric mean without a shift."),
            arithmetic=(37, "This is the arithmetic mean."),
            unshifted=(28.93, "Subtract the shift at the end."),
        ),
    ),
    "benchmarking-2": Exercise(
        "Method A has the ratios 1.2 and 1.4 on instances 1 and 2 and fails on 3. Method B has "
        "1.0, 1.2 and 2.0. Which mean of B can be compared with A's mean?",
        number(
            lambda: 1.1,
            "Average over the instances that both methods solved.",
            all_three=(1.4, "Instance 3 counts for B alone: take the common instances."),
        ),
    ),
    "benchmarking-3": Exercise(
        "Method B beats A on all of 5 instances. What is the two-sided p-value of the sign test?",
        number(
            lambda: 2 * 0.5**5,
            "Under the null hypothesis, all 5 go one way with probability 2 (1/2)^5.",
            one_sided=(0.5**5, "This is the one-sided value."),
        ),
    ),
    "benchmarking-4": Exercise(
        "Nobody has proved that the record of `ring-c4` is optimal. How large can the ratio of its "
        "schedule to the optimum be at most?",
        number(
            lambda: _record("ring-c4")["high"],
            "Divide the schedule by the bound, because the optimum is at least the bound.",
            closed=(1, "That is the least possible ratio: the schedule may be optimal."),
            inverse=(lambda: 1 / _record("ring-c4")["high"], "A ratio is at least 1. Invert it."),
        ),
    ),
    "benchmarking-5": Exercise(
        "Find a schedule of `ring-c2` from the record book that is at most 1.2 times the record's "
        "bound, with any method.",
        schedule(
            lambda: sg.records("ring-c2").instance("ring-c2"),
            lambda: 1.2 * _record("ring-c2")["bound"],
            "min",
        ),
    ),
    "your-own-1": Exercise(
        "Write a rule for hare, a function from an instance to a schedule, whose total is at "
        "most twice the total of `srtf` on two small instances.",
        _rule,
    ),
    "your-own-2": Exercise(
        "In the schedule of section 2, two tasks overlap on GPU2. Which rule does the verifier "
        "report?",
        word(
            _broken_rule,
            lambda: (f"V{k}" for k in range(1, 10)),
            {"": "Look at `verdict.violations[0].rule`."},
        ),
    ),
    "your-own-3": Exercise(
        "You add a constraint to the paper's program, and it stays feasible. Its optimum is 9; "
        "the original optimum is 8. Which of them is a lower bound for every schedule?",
        number(
            lambda: 8,
            "A constraint may exclude the best schedules.",
            changed=(9, "The constraint excluded the schedule of 8, so 9 is no bound."),
        ),
    ),
}


def _book(name: str) -> str:
    return name.rpartition("-")[0]


def exercises(notebook: str | None = None) -> Listing:
    """Return the exercises as a list of dicts with `exercise` and `question`, shown as a table.

    Parameters
    ----------
    notebook : str, optional
        The beginning of the names, such as "ring"; by default, all notebooks.
    """
    books = sorted({_book(name) for name in EXERCISES})
    if notebook is not None and notebook not in books:
        raise UsageError(f"no exercises '{notebook}': choose from {', '.join(books)}")
    return Listing(
        {"exercise": name, "question": item.question}
        for name, item in EXERCISES.items()
        if notebook in (None, _book(name))
    )


@checked(name=a_text)
def check(name: str, answer: object) -> Feedback:
    """Return whether an answer to an exercise is right, and if not, why.

    The right answer is computed each time. Numbers are compared to about three digits.

    Parameters
    ----------
    name : str
        The exercise, such as "ring-3"; `exercises` lists them.
    answer : object
        What the question asks for: a number, a word, a schedule, an instance or a function.

    Raises
    ------
    UsageError
        If there is no such exercise.

    Examples
    --------
    >>> from schedgap import teach
    >>> teach.check("optimal-1", 99)
    optimal-1: not yet. 99 is below the bound 99.2.
    """
    if name not in EXERCISES:
        raise UsageError(f"no exercise '{name}': exercises() lists them")
    reason = EXERCISES[name].grade(answer)
    return Feedback(name, not reason, reason)
