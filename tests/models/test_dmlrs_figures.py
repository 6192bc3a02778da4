"""The figures of the dmlrs paper: their instances, and claims that can hold and fail."""

from collections import Counter

import pytest

from schedgap.models.dmlrs.figures import ALL_JOBS, BASELINES, FINISHED, FLOORS, experiments
from schedgap.models.figure import Draw, MissingValueError

TINY = {"jobs": (2, 3), "machines": (2, 4), "long_machines": (2, 3, 4), "long_jobs": 3}


def name_of(figure) -> tuple:
    return (figure.figure, *figure.setting.items())


def content(job) -> str:
    """All of a job except its id, which is its place in the order of arrival."""
    return repr({**job.model_dump(), "id": ""})


def along(figure, seed=0) -> dict:
    return {point.x: point.instance for point in figure.points if point.seed == seed}


def test_the_figures_have_the_sizes_of_the_paper() -> None:
    """Jobs, machines and slots; of Figure 10 our choice, as of the machines of 6 and 9."""
    sizes = {
        figure.figure: {
            (len(point.instance.jobs), len(point.instance.machines), point.instance.horizon)
            for point in figure.points
        }
        for figure in experiments((1,))
        if not figure.setting and figure.figure.isdigit()
    }
    assert sizes == {
        "6": {(50, machines, 20) for machines in (10, 25, 50, 75, 100)},
        "7": {(jobs, 100, 20) for jobs in (10, 20, 30, 40, 50)},
        "8": {(jobs, 50, 20) for jobs in (10, 20, 30, 40, 50)},
        "9": {(100, machines, 80) for machines in (10, 20, 30, 40, 50)},
        "10": {(100, 30, 80)},
    }


def test_scaled_down_there_are_as_many_draws_and_as_many_claims() -> None:
    full, quick = experiments(), experiments(quick=True)
    assert [name_of(figure) for figure in full] == [name_of(figure) for figure in quick]
    for large, small in zip(full, quick, strict=True):
        assert small.quick and not large.quick
        assert [claim.text for claim in large.claims] == [claim.text for claim in small.claims]
    seeds = {point.seed for point in quick[-1].points}
    assert seeds == set(range(10))
    names = [name_of(figure) for figure in full]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", [0, 1])
def test_one_thing_changes_along_an_axis(seed: int) -> None:
    """More machines with the same jobs, or more jobs, the earlier ones among them."""
    for figure in experiments((seed,), **TINY):
        instances = along(figure, seed)
        assert len({instance.horizon for instance in instances.values()}) == 1
        if figure.x == "machines":
            assert len({repr(instance.jobs) for instance in instances.values()}) == 1
            assert [len(instance.machines) for instance in instances.values()] == list(instances)
            assert len({repr(m.capacity) for i in instances.values() for m in i.machines}) == 1
        elif figure.x == "jobs":
            assert len({repr(instance.machines) for instance in instances.values()}) == 1
            few, many = (Counter(map(content, instances[x].jobs)) for x in (2, 3))
            assert few.total() == 2 and many.total() == 3 and few <= many
        else:
            assert len({instance.sha256 for instance in instances.values()}) == 1


def test_a_setting_changes_what_it_names() -> None:
    figures = {name_of(figure): figure for figure in experiments((0,), **TINY)}
    plain = figures["8",]
    wide = figures["8", ("capacity", "2")]
    for x, instance in along(plain).items():
        double = along(wide)[x]
        assert double.jobs == instance.jobs
        for ours, theirs in zip(instance.machines, double.machines, strict=True):
            assert {k: 2 * v for k, v in ours.capacity.items()} == theirs.capacity
    for number in ("6", "7", "8"):
        for words, last in (("slot 1", 1), ("first half", 10)):
            jobs = [j for i in along(figures[number, ("arrivals", words)]).values() for j in i.jobs]
            assert max(job.arrival for job in jobs) <= last
    for words, low, high in (("0.1 to 1 Gbps", 45_000, 450_000), ("10 Gbps", 4.5e6, 4.5e6)):
        for x, instance in along(figures["8", ("links", words)]).items():
            assert all(low <= job.external_bandwidth <= high for job in instance.jobs)
            assert instance.machines == along(plain)[x].machines
    for key, ending in ((("L", 0.001), ":price_floor=0.001"), (("prices", "all jobs"), "oracle")):
        methods = {p.series: p.method for p in figures["8", key].points}
        assert all(method.endswith(ending) for method in methods.values())
        assert along(figures["8", key]) == along(plain)
    others = {p.series: p.method for p in figures["6", ("L", 0.001)].points}
    assert others["DRF"] == "drf" and others["PD-ORS"] == "pd-ors:price_floor=0.001"


# --- claims --------------------------------------------------------------------------------

SERIES = ("PD-ORS", "FIFO", "DRF", "Dorm", "OASiS")


def curves(objective="total utility", **values) -> Draw:
    """Series by name, two positions each: 6 and 10."""
    return Draw(
        objective,
        {
            (objective, name.replace("_", "-"), x): value
            for name, pair in values.items()
            for x, value in zip((6.0, 10.0), pair, strict=True)
        },
    )


def bars(measure, **values) -> Draw:
    found = {(measure, "policy", name.replace("_", "-")): v for name, v in values.items()}
    return Draw("total utility", found)


def claims_of(figure: str) -> list:
    found = next(each for each in experiments((0,), **TINY) if each.figure == figure)
    return [claim for claim in found.claims if claim.holds is not None]


GOOD = {"FIFO": (1, 2), "DRF": (1, 2), "Dorm": (1, 2)}


@pytest.mark.parametrize("figure", ["6", "7"])
def test_pd_ors_against_each_baseline(figure: str) -> None:
    every, *each = claims_of(figure)[:4]
    assert every.holds(curves(PD_ORS=(1, 2), **GOOD))
    for claim, name in zip(each, BASELINES, strict=True):
        better = curves(PD_ORS=(3, 3), **{**GOOD, name: (2, 4)})
        assert not every.holds(better) and not claim.holds(better)
        assert claim.measure(better) == -25
        assert all(other.holds(better) for other in each if other is not claim)


@pytest.mark.parametrize(("top", "holds"), [(200, False), (201, True), (240, True), (241, False)])
def test_the_top_tick_of_figure_7(top: float, holds: bool) -> None:
    """Of 10 jobs, a fifth of 50: 1000 to 1200 is 200 to 240."""
    claim = claims_of("7")[-1]
    draw = curves(PD_ORS=(500, 1), FIFO=(1, top), DRF=(1, 2), Dorm=(1, 2))
    assert claim.holds(draw) is holds and claim.measure(draw) == 5 * top


@pytest.mark.parametrize("figure", ["8", "9"])
def test_together_against_apart(figure: str) -> None:
    everywhere, summed = claims_of(figure)
    assert everywhere.holds(curves(PD_ORS=(2, 2), OASiS=(2, 1)))
    mixed = curves(PD_ORS=(1, 5), OASiS=(2, 1))
    assert not everywhere.holds(mixed) and everywhere.measure(mixed) == -50
    assert summed.holds(mixed) and summed.measure(mixed) == 100
    worse = curves(PD_ORS=(1, 2), OASiS=(2, 1))
    assert not summed.holds(worse) and summed.measure(worse) == 0
    assert summed.measure(curves(PD_ORS=(0, 2), OASiS=(0, 0))) == float("inf")


def test_the_medians_of_figure_10() -> None:
    for claim, measure in zip(claims_of("10"), (FINISHED, ALL_JOBS), strict=True):
        rest = dict.fromkeys(("FIFO", "DRF", "Dorm"), 4)
        assert claim.holds(bars(measure, PD_ORS=3, OASiS=3, **rest))
        slower = bars(measure, PD_ORS=3, OASiS=2, **rest)
        assert not claim.holds(slower) and claim.measure(slower) == 50
        for nothing in ({"PD_ORS": 3}, {"PD_ORS": 4, "OASiS": 4}):
            with pytest.raises(MissingValueError):
                claim.holds(bars(measure, **nothing, **rest))


def test_the_price_and_the_gain_of_ours() -> None:
    (price,) = claims_of("price")
    name = "PD-ORS, greedy placements (ours)"

    def prices(*values):
        keys = [("total utility", name, x) for x in FLOORS]
        return Draw("total utility", dict(zip(keys, values, strict=True)))

    assert price.holds(prices(5, 1, 2, 3, 4, 5))
    assert not price.holds(prices(4, 1, 2, 3, 5, 1))
    assert price.measure(prices(4, 1, 2, 3, 5, 1)) == 25
    (gain,) = claims_of("gain")

    def gains(one, packing, cover):
        values = {"one": one, "packing": packing, "cover": cover}
        keys = {("total utility", "PD-ORS", x): value for x, value in values.items()}
        return Draw("total utility", keys)

    assert gain.holds(gains(4, 1, 4)) and not gain.holds(gains(4, 2, 3))
    assert gain.measure(gains(4, 2, 3)) == -25


def test_only_the_sentence_on_oasis_is_one_of_our_copy() -> None:
    for figure in experiments((0,), **TINY):
        standings = {claim.standing for claim in figure.claims if claim.holds is not None}
        expected = {"8": "paper", "9": "paper", "price": "ours", "gain": "ours"}
        assert standings == {expected.get(figure.figure, "not stated")}
        if figure.figure in ("8", "9"):
            (sentence,) = {claim.sentence for claim in figure.claims}
            assert "may place workers and parameter servers on one machine" in sentence


def test_what_our_copy_of_the_paper_has_lost_is_said() -> None:
    for figure in experiments((0,), **TINY):
        lost = [claim for claim in figure.claims if claim.holds is None]
        assert all("our copy of the paper" in claim.untestable for claim in lost)
        assert bool(lost) is (figure.figure in ("6", "7", "10") and not figure.setting)
        assert all(claim.source for claim in figure.claims)
