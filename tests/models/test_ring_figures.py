"""The figures of the ring paper: what they draw, and claims that hold on some values only."""

from collections.abc import Mapping, Sequence

import pytest

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.figure import Claim, Draw, Experiment, MissingValueError, NotApplicableError
from schedgap.models.ring import figures
from schedgap.models.ring.figures import (
    CLAIMS,
    CONTENTION,
    IDLE,
    LIMIT,
    MAKESPAN,
    MEAN,
    RING_SERVERS,
    SMALL,
    SPREADING,
    TOGETHER,
    UNEVEN,
    experiments,
    sharing_jobs,
)


def claim(figure: str, text: str) -> Claim:
    """Return the claim of a figure that contains a text."""
    (found,) = (each for each in CLAIMS[figure] if text in each.text)
    return found


POLICIES = ("SJF-BCO", "FF", "LS", "RAND")
Curves = Mapping[tuple[str, str], Sequence[float]]  # by measure and series


def at(found: Sequence[Experiment], figure: str, **setting: float | str) -> Experiment:
    (one,) = (each for each in found if each.figure == figure and each.setting == setting)
    return one


def bars(**measures: Sequence[float]) -> Draw:
    """Return a draw of Figure 4; each measure has a value for each policy."""
    names = {"makespan": MAKESPAN, "mean": MEAN, "contention": CONTENTION,
             "spreading": SPREADING, "servers": RING_SERVERS, "uneven": UNEVEN}  # fmt: skip
    values: dict[tuple[str, str, float | str], float | None] = {
        (names[measure], "policy", policy): value
        for measure, numbers in measures.items()
        for policy, value in zip(POLICIES, numbers, strict=True)
    }
    bracket = {(MAKESPAN, "bound", policy): 1.0 for policy in POLICIES}
    return Draw(MAKESPAN, values | bracket)


def curves(columns: Curves) -> Draw:
    values: dict[tuple[str, str, float | str], float | None] = {
        (measure, series, place): value
        for (measure, series), numbers in columns.items()
        for place, value in enumerate(numbers, 1)
    }
    return Draw(MAKESPAN, values)


def three(measure: str, **columns: Sequence[float]) -> Curves:
    """Return curves of SJF-BCO, FF and LS, given as sjf, ff and ls."""
    names = {"sjf": "SJF-BCO", "ff": "FF", "ls": "LS"}
    return {(measure, names[key]): numbers for key, numbers in columns.items()}


def kappas(
    makespan: Sequence[float],
    contention: Sequence[float] = (0,) * 6,
    servers: Sequence[float] = (0,) * 6,
    spreading: Sequence[float] = (0,) * 6,
) -> Draw:
    columns = {
        MAKESPAN: makespan, CONTENTION: contention, RING_SERVERS: servers, SPREADING: spreading
    }  # fmt: skip
    return curves({(measure, "SJF-BCO"): numbers for measure, numbers in columns.items()})


WAVE = (9, 7, 5, 6, 8, 4)  # bends at the third and the fifth kappa

# claim, draws on which it holds, draws on which it does not
CASES: tuple[tuple[Claim, tuple[Draw, ...], tuple[Draw, ...]], ...] = (
    (
        claim("4", "smallest makespan of"),
        (bars(makespan=(4, 5, 6, 7)),),
        (bars(makespan=(5, 5, 6, 7)), bars(makespan=(5, 6, 7, 4))),
    ),
    (claim("4", "smallest average, and"), (bars(mean=(4, 5, 6, 7)),), (bars(mean=(5, 6, 4, 7)),)),
    (
        claim("4", "smaller makespan and average"),
        (bars(makespan=(5, 6, 4, 7), mean=(5, 6, 4, 7)),),
        (
            bars(makespan=(5, 6, 7, 7), mean=(5, 6, 6, 5)),
            bars(makespan=(7, 6, 7, 7), mean=(4, 6, 6, 5)),
        ),
    ),
    (
        claim("4", "Further servers cost"),
        (bars(spreading=(0.01, 0.02, 0, 0.02)),),
        (bars(spreading=(0.02, 0.01, 0, 0.03)), bars(spreading=(0.02, 0.03, 0, 0.01))),
    ),
    (claim("4", "FF packs"), (bars(servers=(1, 2, 3, 4)),), (bars(servers=(1, 3, 3, 4)),)),
    (
        claim("4", "LS may have"),
        (bars(spreading=(0.01, 0, 0.02, 0)),),
        (bars(spreading=(0.02, 0, 0.01, 0)),),
    ),
    (
        claim("4", "with LS than with FF"),
        (bars(uneven=(0, 0.2, 0.1, 0)),),
        (bars(uneven=(1, 0.1, 0.1, 1)),),
    ),
    (
        claim("4", "with LS than with RAND"),
        (bars(uneven=(0, 0, 0.1, 0.2)),),
        (bars(uneven=(1, 1, 0.2, 0.1)),),
    ),
    (
        claim("5", "as kappa grows"),
        (kappas(WAVE), kappas((9, 9, 5, 6, 6, 4))),
        (
            kappas((9, 8, 7, 6, 5, 4)),
            kappas((4, 5, 6, 5, 6, 5)),
            kappas((9, 5, 6, 4, 5, 5)),
            kappas((5,) * 6),
        ),
    ),
    (
        claim("5", "makespan first drops because"),
        (kappas(WAVE, contention=(3, 9, 1, 0, 0, 0), spreading=(0, 0, 1, 0, 0, 0)),),
        (kappas(WAVE, contention=(3, 0, 1, 0, 0, 0), spreading=(0, 0, 2, 0, 0, 0)),),
    ),
    (
        claim("5", "increases for larger"),
        (kappas(WAVE, contention=(0, 0, 1, 0, 2, 0)),),
        (kappas(WAVE, contention=(0, 0, 2, 9, 2, 0)),),
    ),
    (
        claim("5", "Rings span fewer"),
        (kappas(WAVE, servers=(0, 0, 0, 0, 2, 1)),),
        (kappas(WAVE, servers=(9, 0, 0, 0, 2, 2)),),
    ),
    (
        claim("5", "Overhead falls slightly"),
        (kappas(WAVE, spreading=(0, 0, 0, 0, 2, 1)),),
        (kappas(WAVE, spreading=(9, 0, 0, 0, 2, 2)),),
    ),
    (
        claim("6", "makespan of FF falls"),
        (curves(three(MAKESPAN, ff=(9, 8, 8, 7), ls=(1, 2, 3, 4))),),
        (curves(three(MAKESPAN, ff=(9, 7, 8, 6))),),
    ),
    (
        claim("6", "makespan of LS falls"),
        (curves(three(MAKESPAN, ls=(9, 8, 7))),),
        (curves(three(MAKESPAN, ls=(8, 9, 7))),),
    ),
    (
        claim("6", "makespan of SJF-BCO falls"),
        (curves(three(MAKESPAN, sjf=(9, 8, 7))),),
        (curves(three(MAKESPAN, sjf=(7, 7, 8))),),
    ),
    (
        claim("6", "falls with FF and"),
        (curves(three(CONTENTION, ff=(3, 9, 1))),),
        (curves(three(CONTENTION, ff=(3, 2, 3))),),
    ),
    (
        claim("6", "falls with LS and"),
        (curves(three(CONTENTION, ls=(3, 9, 1), ff=(1, 2, 3))),),
        (curves(three(CONTENTION, ls=(3, 2, 3), ff=(3, 2, 1))),),
    ),
    (
        claim("6", "falls with SJF-BCO and"),
        (curves(three(CONTENTION, sjf=(3, 9, 1), ff=(1, 2, 3))),),
        (curves(three(CONTENTION, sjf=(3, 2, 3), ff=(3, 2, 1))),),
    ),
    (
        claim("6", "FF has the largest"),
        (curves(three(MAKESPAN, sjf=(9, 5), ff=(9, 4), ls=(9, 5))),),
        (
            curves(three(MAKESPAN, sjf=(9, 4), ff=(9, 4), ls=(9, 5))),
            curves(three(MAKESPAN, sjf=(9, 5), ff=(9, 5), ls=(9, 3))),
        ),
    ),
    (claim("6", "idle time"), (curves(three(IDLE, ff=(9, 5))),), (curves(three(IDLE, ff=(5, 9))),)),
    (
        claim("6", "smaller limit"),
        (curves(three(LIMIT, ff=(430, 321))),),
        (curves(three(LIMIT, ff=(321, 321))),),
    ),
    (
        claim("6", "more prominent"),
        (curves(three(MAKESPAN, sjf=(10, 5), ff=(15, 5), ls=(16, 9))),),
        (
            curves(three(MAKESPAN, sjf=(10, 5), ff=(15, 8), ls=(16, 9))),
            curves(three(MAKESPAN, sjf=(10, 5), ff=(15, 8), ls=(11, 8))),
        ),
    ),
    (
        claim("6-large", "no contention"),
        (curves(three(CONTENTION, sjf=(0.1, 0))),),
        (curves(three(CONTENTION, sjf=(0, 0.1))),),
    ),
    (
        claim("6-large", "No two jobs"),
        (curves(three(TOGETHER, sjf=(2, 0))),),
        (curves(three(TOGETHER, sjf=(0, 2))),),
    ),
    (
        claim("6-large", "makespan of SJF-BCO falls"),
        (curves(three(MAKESPAN, sjf=(9, 7, 7))),),
        (curves(three(MAKESPAN, sjf=(9, 6, 7))),),
    ),
    (
        claim("7", "monotonically"),
        (curves(three(MAKESPAN, sjf=(9, 8, 7, 6))),),
        (curves(three(MAKESPAN, sjf=(9, 8, 6, 7))),),
    ),
    (
        claim("7", "span more servers"),
        (curves(three(RING_SERVERS, sjf=(1, 1, 1, 1.5))),),
        (curves(three(RING_SERVERS, sjf=(2, 3, 3, 2))),),
    ),
    (
        claim("7", "Contention is less"),
        (curves(three(CONTENTION, sjf=(2, 3, 4, 1))),),
        (curves(three(CONTENTION, sjf=(1, 1, 1, 1))),),
    ),
    (
        claim("7", "overhead of communication is less"),
        (curves(three(SPREADING, sjf=(2, 3, 4, 1))),),
        (curves(three(SPREADING, sjf=(1, 0, 0, 2))),),
    ),
)


@pytest.mark.parametrize(
    ("tried", "true", "false"), CASES, ids=lambda case: getattr(case, "text", "")
)
def test_a_claim_holds_where_it_should_and_only_there(
    tried: Claim, true: Sequence[Draw], false: Sequence[Draw]
) -> None:
    assert tried.holds is not None and tried.measure is not None and true and false
    assert [tried.holds(draw) for draw in true] == [True] * len(true)
    assert [tried.holds(draw) for draw in false] == [False] * len(false)
    with pytest.raises(MissingValueError):
        tried.holds(Draw(MAKESPAN, dict.fromkeys(true[0].values)))
    assert all(isinstance(tried.measure(draw), float | int) for draw in (*true, *false))


def test_every_claim_is_tried_above() -> None:
    made = {each.text: each for figure in experiments() for each in figure.claims}
    tried = {each.text for each, _, _ in CASES}
    assert {text for text, each in made.items() if each.holds is not None} == tried
    assert {text for text, each in made.items() if each.untestable} == {
        claim("4", "295 s").text, claim("7", "similar role").text
    }  # fmt: skip
    assert {text for text, each in made.items() if each.given} == {
        claim("4", "cost SJF-BCO at most").text, claim("4", "each of the policies at most").text
    }  # fmt: skip
    assert {text for text, each in made.items() if each.threshold == "ours"} == {
        claim("5", "small jobs").text
    }
    assert all(each.source.startswith("Section ") for each in made.values())


@pytest.mark.parametrize(
    ("tried", "draw", "expected"),
    [
        (claim("4", "smallest makespan of"), bars(makespan=(8, 10, 12, 16)), -20),
        (
            claim("4", "cost SJF-BCO at most"),
            bars(contention=(0.1, 0, 0, 0), spreading=(0.05, 0, 0, 0)),
            15,
        ),
        (claim("5", "as kappa grows"), kappas(WAVE), 2),
        (
            claim("4", "each of the policies at most"),
            bars(contention=(0, 0, 0, 0.1), spreading=(0, 0, 0, 0.06)),
            16,
        ),
        (claim("4", "with LS than with FF"), bars(uneven=(0, 0.5, 0.2, 0)), 30),
        (claim("5", "small jobs"), curves({(SMALL, "SJF-BCO"): (0, 0.02, 0.01, 0.9)}), 2),
        (
            claim("6", "FF has the largest"),
            curves(three(MAKESPAN, sjf=(9, 5), ff=(9, 3), ls=(9, 6))),
            2,
        ),
        (
            claim("6", "more prominent"),
            curves(three(MAKESPAN, sjf=(10, 5), ff=(15, 6), ls=(16, 9))),
            50 - 20,
        ),
        (claim("7", "Contention is less"), curves(three(CONTENTION, sjf=(0.03, 0.01))), 2),
    ],
)
def test_the_number_of_a_claim(tried: Claim, draw: Draw, expected: float) -> None:
    assert tried.measure is not None
    assert tried.measure(draw) == pytest.approx(expected)


def test_reasons_of_bends_say_nothing_of_a_curve_without_them() -> None:
    straight = kappas((9, 8, 7, 6, 5, 4), contention=(6, 5, 4, 3, 2, 1))
    for text in ("first drops because", "increases for larger", "Rings span", "Overhead falls"):
        reason = claim("5", text)
        assert reason.holds is not None
        with pytest.raises(NotApplicableError):
            reason.holds(straight)


def test_jobs_share_a_server_only_in_a_common_slot() -> None:
    """a and b share s1 in slot 3; c follows them there in slot 4, and d has s2."""
    instance = generate("ring", preset="paper", seed=0, settings={"jobs": 16, "servers": 2})
    assert isinstance(instance, RingInstance)
    runs = {"a": (1, 3, "s1"), "b": (3, 3, "s1"), "c": (4, 5, "s1"), "d": (1, 5, "s2")}
    rows = [
        {"job": job, "start": start, "end": end, "placement": {server: 1}}
        for job, (start, end, server) in runs.items()
    ]
    assert sharing_jobs(instance, {"jobs": rows}, {}) == 2
    assert sharing_jobs(instance, {"jobs": [*rows[1:]]}, {}) == 0


# --- what is drawn -----------------------------------------------------------------------------


def test_figures_have_the_settings_of_section_7() -> None:
    """T = 1500 where servers vary, else 1200; one kappa at a time, and kappa = 1 for lambda."""
    made = experiments(seeds=(0,), servers=(18, 20), jobs=16, settings=({},))
    points = {each.figure: each.points for each in made}
    assert {n: {point.instance.horizon for point in points[n]} for n in points} == {
        "4": {1200}, "5": {1200}, "6": {1500}, "6-large": {1500}, "7": {1200},
    }  # fmt: skip
    sizes = {1, *(job.gpus for job in points["5"][0].instance.jobs)}
    assert {point.method for point in points["5"] if point.series == "SJF-BCO"} == {
        f"sjf-bco:kappa={kappa}" for kappa in sizes
    }
    assert [point.method for point in points["7"]] == [
        "sjf-bco:kappa=1", *(f"sjf-bco:kappa=1:spread_factor={factor}" for factor in (2, 4, 8))
    ]  # fmt: skip
    assert (
        experiments(quick=True, seeds=(0,))[2].points[0].instance.summary()["jobs"]
        == "160 of 1-32 GPUs"
    )


def test_an_axis_changes_one_thing() -> None:
    made = experiments(seeds=(0, 1), servers=(10, 20), jobs=32, settings=({},))
    for figure in ("4", "5", "7"):
        points = at(made, figure).points
        assert len({point.instance.sha256 for point in points}) == 2, "one instance for each seed"
    sixth = at(made, "6").points
    for seed in (0, 1):
        ten, twenty = (
            next(p.instance for p in sixth if (p.seed, p.x) == (seed, x)).to_data()
            for x in (10, 20)
        )
        assert {key for key in ten if ten[key] != twenty[key]} == {"name", "meta", "servers"}
        assert ten["servers"] == twenty["servers"][:10] and len(twenty["servers"]) == 20


def test_a_setting_changes_what_it_names() -> None:
    settings = (
        {}, {"order": "sjf"}, {"ffp_rule": "pack"}, {"extra_share": 0.5, "reference_crowd": 4},
    )  # fmt: skip
    made = experiments(seeds=(0,), servers=(20,), jobs=32, settings=settings)
    usual, by_size = at(made, "4"), at(made, "4", order="sjf")
    methods = {point.x: point.method for point in by_size.points}
    assert methods == {
        "SJF-BCO": "sjf-bco", "FF": "first-fit:order=sjf", "LS": "list-scheduling:order=sjf",
        "RAND": "random:order=sjf",
    }  # fmt: skip
    assert by_size.points[0].instance == usual.points[0].instance
    beside = {point.x: point.method for point in usual.points if "(ours)" in str(point.x)}
    assert {beside[f"{name}, smallest first (ours)"] for name in ("FF", "LS", "RAND")} == {
        method for name, method in methods.items() if name != "SJF-BCO"
    }
    packed = at(made, "4", ffp_rule="pack"), at(made, "7", ffp_rule="pack")
    assert [point.method for point in packed[0].points] == [
        "sjf-bco:ffp_rule=pack", "first-fit", "list-scheduling", "random"
    ]  # fmt: skip
    assert packed[1].points[-1].method == "sjf-bco:ffp_rule=pack:kappa=1:spread_factor=8"
    strong = at(made, "4", extra_share=0.5, reference_crowd=4).points[0].instance
    assert strong.meta["settings"]["extra_share"] == 0.5
    assert strong.servers == usual.points[0].instance.servers
    assert [each.figure for each in made if each.setting == {"order": "sjf"}] == ["4", "6"]


def test_ten_draws_and_every_series_of_the_paper() -> None:
    for quick in (True, False):
        for each in experiments(quick=quick, jobs=8, servers=(20,)):
            assert {point.seed for point in each.points} == set(range(10))
            assert {point.series for point in each.points} == set(each.series)
    printed = {"4": set(POLICIES), "5": {"SJF-BCO"}, "6": {"SJF-BCO", "FF", "LS"}, "7": {"SJF-BCO"}}
    for each in experiments(jobs=8, servers=(20,)):
        if each.figure in printed:
            names = {str(point.x if each.figure == "4" else point.series) for point in each.points}
            assert {name for name in names if "(ours)" not in name} == printed[each.figure]
    assert figures.SERVERS[0] == 10 and figures.SERVERS[-1] == 20
