"""The figures of the edge paper: what changes along an axis, and claims that can fail."""

import pytest

from schedgap.models.edge import figures, rules
from schedgap.models.edge.figures import (
    A_ONLINE,
    BEST,
    BOUND,
    CLAIMS,
    OBJECTIVE,
    PREEMPTIVE,
    RATE,
    TOGETHER,
    USE,
    experiments,
)
from schedgap.models.figure import Claim, Draw, MissingValueError, NotApplicableError, monotone
from strategies.edge_examples import TOY_A, TOY_A_SCHEDULE

QUICK = experiments(quick=True, seeds=(0, 1), sizes=(3, 5, 7), usual=5, small_jobs=(3, 4))


def figure(number, **setting):
    (found,) = (each for each in QUICK if each.figure == number and each.setting == setting)
    return found


def draw(values, measure=OBJECTIVE):
    """A draw with a curve for each series on the axis 1, 2, 3, ..."""
    return Draw(
        OBJECTIVE,
        {
            (measure, series, x): value
            for series, curve in values.items()
            for x, value in enumerate(curve, 1)
        },
    )


def policies(a_online, fifo=(9, 99), drf=(9, 99), batch_sche=(9, 99)):
    return draw({A_ONLINE: a_online, "FIFO": fifo, "DRF": drf, "BatchSche": batch_sche})


def claims(number, *texts):
    """The claims of a figure that contain a text, one for each."""
    found = [[each for each in CLAIMS[number] if text in each.text] for text in texts]
    assert [len(each) for each in found] == [1] * len(texts)
    return [each for (each,) in found]


def test_claims_of_figures_3_and_4_can_hold_and_fail():
    rivals = tuple(figures.BASELINES)
    names = (A_ONLINE, *rivals)
    grows, *others = claims("3", *(f"time of {name} grows" for name in names))
    falls, *others_fall = claims("4", *(f"time of {name} decreases" for name in names))
    found = claims("3", *(f"obviously better than {name}" for name in rivals))
    better = dict(zip(rivals, found, strict=True))
    found = claims("3", *(f"more of the workers than {name}" for name in rivals))
    uses = dict(zip(rivals, found, strict=True))
    good = policies((3, 8))
    assert grows.holds(good) and not falls.holds(good)
    assert grows.measure(good) == pytest.approx(100 * 5 / 3)
    assert [claim.holds(good) for claim in (*others, *others_fall)] == [True] * 3 + [False] * 3
    one = policies((3, 8), drf=(9, 8))
    assert grows.holds(one) and [claim.holds(one) for claim in others] == [True, False, True]
    assert [claim.holds(one) for claim in others_fall] == [False, True, False]
    assert not grows.holds(policies((3, 3)))
    assert falls.holds(policies((3, 2))) and not grows.holds(policies((3, 2)))
    assert others_fall[1].measure(one) == pytest.approx(-100 / 9)
    assert all(claim.holds(good) for claim in better.values())
    worse = policies((3, 8), drf=(9, 7))
    assert [name for name, claim in better.items() if not claim.holds(worse)] == ["DRF"]
    assert better["DRF"].measure(worse) == pytest.approx(100 / 7)
    with pytest.raises(MissingValueError):
        better["FIFO"].holds(policies((3, None)))
    lazy = {"FIFO": (0.2, 0.3), "DRF": (0.1, 0.1), "BatchSche": (0.1, 0.3)}
    assert all(claim.holds(draw({A_ONLINE: (0.3, 0.3), **lazy}, USE)) for claim in uses.values())
    idle = draw({A_ONLINE: (0.3, 0.2), **lazy}, USE)
    assert [name for name, claim in uses.items() if not claim.holds(idle)] == ["FIFO", "BatchSche"]


@pytest.mark.parametrize(
    ("claim", "true", "false"),
    [
        (*claims("5", "for larger"), draw({A_ONLINE: (3, 3, 4)}), draw({A_ONLINE: (3, 6, 5)})),
        (*claims("5", "for larger"), draw({A_ONLINE: (3, 4)}), draw({A_ONLINE: (3, 3)})),
        (*claims("5", "smaller with"), draw({A_ONLINE: (4, 3, 3)}), draw({A_ONLINE: (3, 4)})),
        (*claims("5", "More jobs"), draw({A_ONLINE: (1, 2)}, RATE), draw({A_ONLINE: (2, 1)}, RATE)),
        (*claims("6", "smaller with more"), draw({A_ONLINE: (4, 3)}), draw({A_ONLINE: (3, 4)})),
        (*claims("6", "More jobs"), draw({A_ONLINE: (1, 2)}, RATE), draw({A_ONLINE: (2, 1)}, RATE)),
        (
            *claims("7", "performs better"),
            draw({A_ONLINE: (4, 3), PREEMPTIVE: (4, 2)}),
            draw({A_ONLINE: (4, 3), PREEMPTIVE: (3, 4)}),
        ),
        (
            *claims("9", "slightly better"),
            draw({A_ONLINE: (4, 3), PREEMPTIVE: (4, 4)}),
            draw({A_ONLINE: (4, 3), PREEMPTIVE: (3, 4)}),
        ),
        (
            *claims("11", "significantly better"),
            draw({A_ONLINE: (4, 9), PREEMPTIVE: (3, 4)}),
            draw({A_ONLINE: (4, 9), PREEMPTIVE: (5, 4)}),
        ),
        (
            *claims("11", "The lead"),
            draw({A_ONLINE: (4, 9), PREEMPTIVE: (2, 3)}),
            draw({A_ONLINE: (4, 9), PREEMPTIVE: (1, 3)}),
        ),
        (
            *claims("13", "smaller share"),
            draw({A_ONLINE: (0.5, 0.4)}, USE),
            draw({A_ONLINE: (0.4, 0.5)}, USE),
        ),
        (
            *claims("13", "uses more"),
            draw({A_ONLINE: (0.5, 0.4), PREEMPTIVE: (0.5, 0.6)}, USE),
            draw({A_ONLINE: (0.5, 0.4), PREEMPTIVE: (0.6, 0.3)}, USE),
        ),
    ],
)  # fmt: skip
def test_a_claim_holds_on_one_draw_and_not_on_another(claim, true, false):
    assert claim.holds(true) and not claim.holds(false)
    assert claim.measure(true) != claim.measure(false)


@pytest.mark.parametrize(
    ("text", "measure"), [("More jobs", RATE), ("smaller with larger F", OBJECTIVE)]
)
def test_an_explanation_by_f_does_not_apply_where_f_changes_nothing(text, measure):
    (claim,) = claims("5", text)
    flat, wave = ((3, 3, 3), (3, 4, 3))
    values = [draw({A_ONLINE: curve}, measure) for curve in (flat, wave)]
    with pytest.raises(NotApplicableError):
        claim.holds(values[0])
    assert not claim.holds(values[1])
    unmoved = monotone(A_ONLINE, "falls", text="", source="")
    assert not unmoved.holds(draw({A_ONLINE: flat}))


def known(a_online, best, bound):
    return draw({A_ONLINE: a_online, BEST: best, BOUND: bound})


def test_figure_14_judges_only_what_is_known():
    """A ratio lies between value / best known and value / bound."""
    rises, close = claims("14", "increasing trend", "close to 1")
    assert rises.holds(known((11, 30), (10, 20), (10, 20)))
    assert not rises.holds(known((11, 21), (10, 20), (10, 20)))
    assert rises.measure(known((11, 33), (10, 20), (10, 20))) == pytest.approx(50)
    assert rises.holds(known((11, 30), (10, 20), (9, 16)))  # at most 1.22, then at least 1.5
    with pytest.raises(MissingValueError):
        rises.holds(known((11, 30), (10, 20), (5, 16)))
    assert close.holds is None  # the paper says "close to 1" without a number
    assert close.measure(known((11, 31), (10, 20), (1, 1))) == pytest.approx(1.55)
    with pytest.raises(MissingValueError):
        close.measure(known((11, 30), (10, None), (10, 19)))


def test_every_claim_of_every_figure_has_a_number_and_a_source_or_a_reason():
    numbers = {each.figure for each in QUICK}
    assert numbers == {*map(str, range(3, 15)), "14-servers", "14-scale"}
    for each in QUICK:
        assert each.claims and all(isinstance(claim, Claim) for claim in each.claims)
        for claim in each.claims:
            assert (claim.measure is None) == bool(claim.untestable or claim.given)
            assert claim.source.startswith(("Section VI, ", "Section VII"))


def instances(experiment, seed=0):
    return {point.x: point.instance for point in experiment.points if point.seed == seed}


def test_only_what_a_figure_is_about_changes_along_its_axis():
    """Jobs and servers of the first position stay, and further ones are added."""
    for number, rest in (("3", "servers"), ("4", "arrivals"), ("9", "servers"), ("14", "servers")):
        few, *_, many = instances(figure(number)).values()
        if rest == "servers":
            assert few.servers == many.servers and few.horizon == many.horizon
            assert len(few.jobs) < len(many.jobs)
            volumes = [
                {(job.arrival, job.minibatches) for job in each.jobs} for each in (few, many)
            ]
            assert volumes[0] <= volumes[1]
        else:
            assert list(few.servers[:-1]) == list(many.servers[: len(few.servers) - 1])
            assert [job.arrival for job in few.jobs] == [job.arrival for job in many.jobs]
    by_overhead = [instances(figure("9", **over)) for over in ({}, {"overhead": 16})]
    assert by_overhead[0] == by_overhead[1]
    caps = instances(figure("5"))
    assert len({each.price_caps.worker for each in caps.values()}) == len(caps)
    assert len({(repr(each.servers), repr(each.jobs)) for each in caps.values()}) == 1
    gradients = instances(figure("11"))
    assert {job.gradient_megabytes for each in gradients.values() for job in each.jobs} == {
        30, 302, 575
    }  # fmt: skip


def test_settings_change_the_instances_that_they_name():
    base = instances(figure("3"))[5]
    late, mixed = (
        instances(figure("3", **setting))[5] for setting in ({"T": 1536}, {"servers": "mixed"})
    )
    assert base.servers == late.servers and max(job.arrival for job in base.jobs) <= 256
    assert 256 < max(job.arrival for job in late.jobs) <= 1024
    kinds = [len(server.workers) for server in mixed.servers[:-1]]
    assert max(kinds) > 1 and {len(server.workers) for server in base.servers} == {1}
    assert [job.minibatches for job in base.jobs] == [job.minibatches for job in mixed.jobs]
    clouds = [sum(each.servers[-1].workers.values()) for each in (base, mixed)]
    assert clouds == [64, 63]


def test_full_figures_have_the_paper_s_sizes():
    full = {(each.figure, *each.setting): each for each in experiments(seeds=(0,))}
    assert figures.SIZES == (100, 150, 200, 250, 300) and figures.USUAL == 200
    assert (min(figures.GRADIENTS), max(figures.GRADIENTS)) == (30, 575)
    assert len(next(iter(full["3",].draw())).instance.jobs) == 100
    assert all(len(experiments(quick=quick)[0].points) >= 10 * 3 for quick in (True,))
    assert {"A_online", "FIFO", "DRF", "BatchSche"} < set(full["3",].series)


def test_how_many_jobs_are_on_one_server_is_measured_and_not_judged():
    """The paper says that they tend to be, which is not a number."""
    together = [claim for claim in CLAIMS["11"] if "places" in claim.text]
    assert {claim.threshold for claim in together} == {"ours"}
    found = draw({A_ONLINE: (1, 0.75), PREEMPTIVE: (0, 0.5)}, TOGETHER)
    assert [claim.measure(found) for claim in together] == [75, 50, -25, 50]


def test_fragments_are_not_judged_anywhere():
    claims = {claim for each in QUICK for claim in each.claims if "ragment" in claim.text}
    assert {claim.untestable for claim in claims} == {
        "the paper does not define the fragments of resources"
    }


def test_utilization_and_jobs_per_slot_end_with_the_last_run():
    """j2 has 4 workers in slot 2, j1 2 in 3-4, j3 1 in 3: 9 of 8 workers times 4 slots."""
    found = rules.metrics(TOY_A, TOY_A_SCHEDULE)
    assert found[USE] == pytest.approx(9 / 32)
    assert found[RATE] == pytest.approx(3 / 4)
    assert found[TOGETHER] == pytest.approx(2 / 3)  # j2 is split
