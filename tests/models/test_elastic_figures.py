"""The figures of elastic: each axis changes one thing, and each claim can hold and can fail."""

from collections import Counter
from collections.abc import Mapping
from statistics import median

import pytest

import schedgap as sg
from schedgap.analysis.solving.choices import Choice
from schedgap.instances.generate import generate
from schedgap.models.elastic.algorithms.a_maxweight import a_maxweight, constants
from schedgap.models.elastic.figures import (
    ALPHA,
    COUNT,
    MEAN,
    OTHERS,
    REPAIRED,
    TYPES,
    VALUE,
    alpha_of_rounds,
    experiments,
)
from schedgap.models.figure import Claim, Draw, Experiment, NotApplicableError

QUICK = experiments(quick=True, seeds=(0, 1))
(TEN,) = (each for each in experiments(quick=True) if each.figure == "2" and not each.setting)
AXIS = (1, 2)


def figure(number: str, **setting: object) -> Experiment:
    (found,) = [each for each in QUICK if each.figure == number and each.setting == setting]
    return found


def drawn(objective: str, values: Mapping[object, tuple[float, float]], axis=AXIS) -> Draw:
    """Values by series, or by series and measure, along an axis of two positions."""
    table = {}
    for name, pair in values.items():
        series, measure = name if isinstance(name, tuple) else (name, objective)
        table |= {(measure, series, x): value for x, value in zip(axis, pair, strict=True)}
    return Draw(objective, table)


def policies(a_online: float, jobs_first: float, preemptive: float) -> dict[object, object]:
    """Curves in proportion 1 : 2, and mean completion times in proportion 1 : 3."""
    values = {"A_online": a_online, "FIFO": jobs_first, "DRF": jobs_first}
    values |= {"AntMan": preemptive, "Tiresias": preemptive}
    curves: dict[object, object] = {name: (value, 2 * value) for name, value in values.items()}
    return curves | {("A_online", MEAN): (1, 3)}


AS_PRINTED = policies(1, 2, 3)
OTHERWISE = {
    name: pair[::-1] if isinstance(name, tuple) or name == "A_online" else pair
    for name, pair in policies(9, 2, 1).items()
}
WEIGHTS = {"A_maxweight": (12.0, 10.0), ("A_maxweight", COUNT): (7, 5)}  # two more of weight 1
FIXED = dict(zip(TYPES, (9.0, 7.0, 5.0, 3.0), strict=True))
DRAWS = {  # draws as the paper says, and others
    **dict.fromkeys("2356", (AS_PRINTED, OTHERWISE)),
    "4": ({"A_online": (1, 2), ("A_online", MEAN): (1, 3)},
          {"A_online": (2, 1), ("A_online", MEAN): (3, 1)}),
    "8": ({"A_maxweight": (3, 3), "Jain et al.": (2, 2)},
          {"A_maxweight": (3, 1), "Jain et al.": (2, 2)}),
    "9": ({"A_online": (3, 2)} | {name: (value, value) for name, value in FIXED.items()},
          {"A_online": (4, 4)} | {name: (3 + value / 100, 3) for name, value in FIXED.items()}),
    "10": ({"fixed number": (5, 4), "A_online": (4, 4)},
           {"fixed number": (4, 5), "A_online": (4.5, 4.5)}),
    "11": (WEIGHTS, {"A_maxweight": (12, 13), ("A_maxweight", COUNT): (5, 5)},
           {"A_maxweight": (12, 10), ("A_maxweight", COUNT): (6, 10)},
           {"A_maxweight": (12, 5), ("A_maxweight", COUNT): (6, 5)}),
    "12": ({"6 jobs": (3, 2), "10 jobs": (4, 3), "15 jobs": (5, 4)},
           {"6 jobs": (3, 3), "10 jobs": (4, 4), "15 jobs": (4, 4)}),
    "shortage": (policies(1, 2, 3) | {"A_online": (1, 3)},
                 policies(3, 2, 4) | {"A_online": (3, 1)}),
}  # fmt: skip
AXES = {"9": ("PS", "RA"), "shortage": (0.2, 0.5)}


def judged() -> list[tuple[str, Claim]]:
    return [
        (each.figure, claim)
        for each in QUICK
        if not each.setting
        for claim in each.claims
        if claim.holds is not None and each.figure != "intro"
    ]


@pytest.mark.parametrize(("number", "claim"), judged(), ids=lambda value: str(value)[:40])
def test_a_claim_holds_on_the_values_that_the_paper_describes_and_fails_on_others(number, claim):
    objective, axis = figure(number).objective, AXES.get(number, AXIS)
    printed, *others = (drawn(objective, values, axis) for values in DRAWS[number])
    assert claim.holds(printed)
    assert not all(claim.holds(draw) for draw in others)
    assert claim.source.endswith(f"Fig. {number}") or number == "shortage"
    assert claim.measure(printed) is not None


def test_growth_with_the_servers_is_judged_at_each_step():
    (claim,) = (each for each in figure("3").claims if "may grow with the number" in each.text)
    values = {"A_online": (1, 3, 2)}
    table = {
        (VALUE, "A_online", x): y for x, y in zip((8, 12, 16), values["A_online"], strict=True)
    }
    assert claim.measure(Draw(VALUE, table)) == pytest.approx(100)
    assert not claim.holds(Draw(VALUE, table))


def test_the_example_of_the_introduction_has_the_averages_of_the_paper():
    """One GPU and two: (10 + 15) / 2; two and then two: (10 + 20) / 2."""
    values, claims = {}, figure("intro").claims
    for point in figure("intro").points:
        choice = Choice.read(point.method)
        found = sg.solve(point.instance, choice.method, **dict(choice.settings))
        values[MEAN, "strategy", point.x] = found.metrics[MEAN]
    assert [claim.measure(Draw(VALUE, values)) for claim in claims] == [12.5, 15]
    assert [claim.text.split(" is ")[-1] for claim in claims] == ["12.5 ms", "15 ms"]
    assert all(claim.given for claim in claims)


def test_the_typical_alpha_is_the_median_over_the_rounds_of_a_run():
    """(6) gives floor(log2(w / 1) / log2(gamma / (gamma - 1))) + 1 for a batch of weight w."""
    instance = generate("elastic", preset="small", seed=1)
    trace = sg.solve(instance, "a-online").trace
    needed = [each["alpha_needed"] for each in trace["rounds"]]
    assert alpha_of_rounds(instance, {}, trace) == median(needed) > 0
    assert alpha_of_rounds(instance, {}, {"rounds": [{"alpha_needed": a} for a in (1, 9, 4)]}) == 4
    assert alpha_of_rounds(instance, {}, {}) is None
    (claim,) = figure("alpha").claims
    assert claim.measure(drawn(VALUE, {("A_online", ALPHA): (3, 100)})) == 100


def test_the_ratio_to_the_best_known_schedule_is_the_largest_on_the_axis():
    (claim,) = (each for each in figure("2").claims if "offline optimum" in each.text)
    assert claim.threshold == "ours" and claim.holds is None
    values = {"A_online": (6, 8), "best known": (3, 2)}
    assert claim.measure(drawn(VALUE, values)) == 4


def test_the_types_of_figure_9_are_compared_inside_each_framework():
    *spreads, best, other = figure("9").claims
    values = {"A_online": (3, 4)} | {name: (value, 3) for name, value in FIXED.items()}
    draw = drawn(VALUE, values, AXES["9"])
    for claim, name, expected in ((best, "PS", True), (other, "RA", False)):
        assert claim.text.endswith(f"smallest value with {name}")
        assert claim.holds(draw) is expected
    assert [claim.measure(draw) for claim in spreads] == pytest.approx([200, 0])


def test_a_lead_that_is_nowhere_is_no_larger_with_less_capacity():
    first, second = figure("shortage").claims
    behind = drawn(VALUE, policies(3, 2, 4) | {"A_online": (3, 9)}, AXES["shortage"])
    assert not first.holds(behind)
    with pytest.raises(NotApplicableError):
        second.holds(behind)
    only_later = drawn(VALUE, policies(1, 2, 3) | {"A_online": (3, 1)}, AXES["shortage"])
    assert not second.holds(only_later)


@pytest.mark.parametrize("number", ["4", "11"])
def test_f_is_below_its_least_valid_value_only_in_a_copy(number):
    usual = figure(number)
    small = figure(number, F="1e-9 to 1 of the least valid")
    assert min(point.x for point in usual.points) == 1
    assert max(point.x for point in small.points) == 1
    assert {point.instance.name for point in usual.points} == {
        point.instance.name for point in small.points
    }
    flat = {"A_online": (2, 2), ("A_online", MEAN): (1, 1)}
    flat |= {"A_maxweight": (2, 2), ("A_maxweight", COUNT): (1, 1)}
    for claim in usual.claims:  # the paper does not state its axis, so nothing is judged
        assert claim.holds is None and claim.threshold == "ours"
        assert claim.measure(drawn(usual.objective, flat)) == 0


def test_antman_and_tiresias_are_compared_with_a_online_in_a_part_of_its_own():
    values = policies(9, 1, 2)
    than = {
        claim.text.rpartition("than ")[2]: claim.holds(drawn(VALUE, values))
        for claim in figure("2").claims
        if claim.holds is not None and claim.text.startswith("AntMan and Tiresias have")
    }
    assert than == {"FIFO and DRF": True, "A_online": False}


def test_the_sentences_of_the_paper_are_counted_once():
    """30 % better in both figures: a sentence of eight parts; and the same for the others."""
    count = Counter(
        claim.sentence
        for each in QUICK
        if not each.setting
        for claim in each.claims
        if claim.sentence
    )
    assert sorted(count.values()) == [2, 2, 2, 2, 2, 2, 3, 4, 8, 8, 12]


def test_jobs_of_less_weight_lower_the_mean():
    """Seven jobs of weight 12 are lighter than five of weight 10, by 100 (1 - 12/7 / 2) %."""
    claim = figure("11").claims[-1]
    assert claim.measure(drawn(figure("11").objective, WEIGHTS)) == pytest.approx(-100 / 7)


def test_every_figure_of_the_evaluation_is_there_at_our_defaults_and_at_ten_draws():
    for each in (QUICK, experiments()):
        plain = [figure.figure for figure in each if not figure.setting]
        assert plain == ["intro", "shortage", "alpha", *(str(number) for number in range(2, 13))]
    full = {(each.figure, str(each.setting)) for each in experiments()}
    assert {(each.figure, str(each.setting)) for each in QUICK} == full
    for each in QUICK:
        assert bool(each.brackets) is (not each.setting and each.figure != "intro")
        assert not each.setting or all(claim.holds or claim.measure for claim in each.claims)
    assert {point.seed for point in TEN.points} == set(range(10))


def instances(experiment: Experiment, seed: int = 0) -> dict[object, object]:
    return {point.x: point.instance for point in experiment.points if point.seed == seed}


@pytest.mark.parametrize("number", ["2", "5", "8"])
def test_along_an_axis_of_jobs_the_cluster_stays_and_jobs_are_added(number):
    few, middle, many = instances(figure(number)).values()
    assert few.servers == middle.servers == many.servers
    assert few.worker_types == many.worker_types and few.ps_types == many.ps_types
    jobs = [{job.id: job for job in each.jobs} for each in (few, middle, many)]
    assert jobs[0].items() < jobs[1].items() < jobs[2].items()
    assert few.horizon == many.horizon == (300 if number == "2" else 150)


@pytest.mark.parametrize("number", ["3", "6", "12"])
def test_along_an_axis_of_servers_jobs_and_total_capacity_stay(number):
    few, _, many = instances(figure(number)).values()
    assert few.jobs == many.jobs and few.worker_types == many.worker_types
    assert len(few.servers) < len(many.servers)
    for r in few.resources:
        totals = [sum(server.capacity[r] for server in each.servers) for each in (few, many)]
        assert totals[0] == totals[1] > 0


def test_series_that_are_kinds_of_jobs_have_separate_instances():
    """Figure 7 has a series for each framework, Figure 12 one for each number of jobs."""
    frameworks = {point.series: point.instance.architecture for point in figure("7").points}
    assert frameworks == {"PS": "parameter_server", "RA": "ring_allreduce"}
    numbers = {point.series: len(point.instance.jobs) for point in figure("12").points}
    assert numbers == {"6 jobs": 6, "10 jobs": 10, "15 jobs": 15}


@pytest.mark.parametrize("number", ["4", "10", "11"])
def test_along_an_axis_of_an_option_the_instance_stays(number):
    found = figure(number)
    for seed in (0, 1):
        points = [point for point in found.points if point.seed == seed]
        assert len({point.instance for point in points}) == 1
        first = [point for point in points if point.series == found.series[0]]
        assert len({point.method for point in first}) == len(first)


def test_the_capacity_is_in_the_range_of_the_paper():
    """0.2 of the largest number of jobs by construction; of the smallest 0.5 in the middle."""
    few, *_, many = dict.fromkeys(point.x for point in TEN.points)
    fractions = []
    for seed in range(10):
        instance = instances(TEN, seed)[few]
        settings = {
            "jobs": few, "servers": len(instance.servers), "worker_types": 4, "ps_types": 4,
            "horizon": 300, "capacity_fraction": 1,
        }  # fmt: skip
        asked = generate("elastic", preset="paper", seed=seed, settings=settings)
        fractions.append(
            sum(server.capacity["gpu"] for server in instance.servers)
            / sum(server.capacity["gpu"] for server in asked.servers)
        )
    assert few / many == 0.4 and 0.4 <= median(fractions) <= 0.6


def test_arrivals_are_the_only_thing_that_their_setting_changes():
    spread = instances(figure("2"))[6]
    together = instances(figure("2", arrivals="together"))[6]
    assert {job.arrival for job in together.jobs} == {1} != {job.arrival for job in spread.jobs}
    assert together.servers == spread.servers
    assert {job.id: job.work for job in together.jobs} == {job.id: job.work for job in spread.jobs}


def test_settings_of_policies_are_options_of_their_methods():
    plain, other = figure("2"), figure("2", alpha=1, restart=64)
    methods = [{point.series: point.method for point in each.points} for each in (plain, other)]
    changed = {name for name in methods[0] if methods[0][name] != methods[1][name]}
    assert changed == {"A_online", "AntMan", "Tiresias"}
    assert set(REPAIRED) | set(OTHERS) | {"A_online"} == set(methods[0])
    assert dict(Choice.read(methods[1]["Tiresias"]).settings) == {"restart": "64"}
    fifo = {point.method for point in figure("5", fifo_workers=30).points if point.series == "FIFO"}
    assert fifo == {"fifo:workers=30"}


def test_the_fixed_types_of_figure_9_are_those_of_their_names():
    instance = figure("9").points[0].instance
    for name, method in TYPES.items():
        place = int(dict(Choice.read(method).settings)["worker_type"])
        assert name == f"{instance.worker_types[place - 1].id} only"


def test_a_factor_of_f_multiplies_its_default():
    instance = generate("elastic", preset="toy-batch")
    plain = constants(instance)
    assert constants(instance, F_factor=10).F == 10 * plain.F
    assert constants(instance, F=3, F_factor=2).F == 6
    run = a_maxweight(instance, F_factor=10)
    assert run.trace["F"] == 10 * plain.F
    assert run.schedule == a_maxweight(instance, F=10 * plain.F).schedule


def test_without_the_check_of_lemma_1_the_schedule_is_the_same():
    instance = generate("elastic", preset="small", seed=1)
    with_check = sg.solve(instance, "a-online", alpha=1)
    without = sg.solve(instance, "a-online", alpha=1, lemma_1=False)
    assert with_check.schedule == without.schedule


@pytest.mark.parametrize("method", ["antman", "tiresias"])
def test_a_preempted_job_loses_the_slots_of_a_restart(method):
    instance = generate(
        "elastic", preset="small", seed=10, settings={"jobs": 8, "servers": 2, "arrival_span": 12}
    )
    cheap, dear = (sg.solve(instance, method, restart=slots) for slots in (0, 5))
    assert cheap.schedule["restart_slots"] == 0 and dear.schedule["restart_slots"] == 5
    assert any(len(job["segments"]) > 1 for job in dear.schedule["jobs"].values())
    assert cheap.objective < dear.objective
    assert sg.verify(instance, dear).violations == ()


def test_where_no_server_can_hold_a_worker_nothing_is_measured():
    """At full scale, the servers of seed 5 at a capacity of 0.2 are too small, but for 100."""
    figures = experiments(seeds=(5,), servers=(100, 125))
    (scarce,) = [
        each for each in figures if (each.figure, each.setting) == ("3", {"capacity": 0.2})
    ]
    assert {point.x for point in scarce.points} == {100}
    (usual,) = [each for each in figures if (each.figure, each.setting) == ("3", {})]
    assert {point.x for point in usual.points} == {100, 125}
