"""Proofs of dmlrs optima: the program of `proof.py` against enumeration."""

import copy
import json
import math
import random
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs import proof, rules
from schedgap.models.dmlrs.exact import prove
from schedgap.models.dmlrs.exact.prove import prove_goal
from schedgap.models.method import Budget, NullProgress
from schedgap.models.proofs import check_here, excluded_value, proof_data, write_proof
from schedgap.models.refute import refute_stage
from schedgap.proof import main
from schedgap.solvers import Clock
from schedgap.solvers.proofs.bins import OutOfTimeError
from schedgap.solvers.proofs.checker import RefusedError
from schedgap.solvers.proofs.prover import Proved
from schedgap.solvers.proofs.tree import Proof
from strategies.dmlrs import best_schedule, dmlrs_instances, plain_ps, slot_choices
from strategies.tampering import tampered


def contended(seed: int) -> DmlrsInstance:
    """Return two or three jobs that each fit, on one to three small machines."""
    rng = random.Random(seed)
    T, names = rng.randint(2, 4), ["gpu", "cpu"]
    exact = rng.random() < 0.3

    def job(i: int) -> dict[str, Any]:
        ratio = 1.0 if exact and rng.random() < 0.6 else rng.choice([1, 4 / 3, 2 - 1e-10, 2, 3])
        batch, arrival = rng.randint(2, 3), rng.randint(1, max(1, T - 1))
        near = rng.choice([1, 1, 1 + 4e-10, 1 + 1e-12, 1 - 1e-12, 1 + 1e-8])
        needed = rng.randint(2, batch * (T - arrival + 1)) * near * rng.choice([1, 1, 0.9])
        stretch = rng.choice([1, 4 / 3, 1.5, 2, 1 + 3e-10, 1 + 2e-9])
        values = sorted((rng.choice([0, 1, 3, 7, 9, 1 / 3, 1e-9]) for _ in range(T)), reverse=True)
        return {
            "id": f"j{i}", "arrival": arrival, "epochs": 1, "samples": 1, "batch_size": batch,
            "gradient_size": 0.5, "time_per_sample": 0.0, "worker_ps_ratio": ratio,
            "internal_bandwidth": ratio / batch / needed,
            "external_bandwidth": ratio / batch / needed / stretch,
            "worker_demand": {"gpu": rng.choice([1, 1, 1.5]), "cpu": rng.choice([0, 1])},
            "ps_demand": {"gpu": rng.choice([0, 1]), "cpu": rng.choice([1, 0.5])},
            "utility": {"type": "table", "values": values},
        }  # fmt: skip

    machines = [
        {"id": f"m{h}", "capacity": {"gpu": rng.choice([1, 2, 3]), "cpu": rng.choice([2, 3, 5])}}
        for h in range(rng.choice([1, 2, 2, 3]))
    ]
    return DmlrsInstance.from_data(
        {
            "family": "dmlrs", "version": 1, "name": f"contended {seed}", "horizon": T,
            "resources": names, "machines": machines, "ps_rule": "exact" if exact else "at_least",
            "jobs": [job(i) for i in range(rng.choice([2, 2, 3]))],
        }
    )  # fmt: skip


def as_file(instance: DmlrsInstance, goal: int, proved: Proved) -> dict[str, Any]:
    assert proved.proof is not None
    found = proved.proof
    data = proof_data(instance, goal, vectors=found.vectors, cuts=found.cuts, tree=found.tree)
    loaded: dict[str, Any] = json.loads(json.dumps(data))
    return loaded


def hold_to_enumeration(instance: DmlrsInstance) -> None:
    optimum, _ = best_schedule(instance)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    proved = prove_goal(instance, goal, budget=Budget(Clock(60)))
    assert proved.reason == ""
    data = as_file(instance, goal, proved)
    assert check_here(instance, data).status == "proved"
    # The program holds the optimal schedule: the claim that there is none is answered by it.
    reached = -math.ceil(Fraction(optimum) * (1 - Fraction(1, 10**15)) * proof.units(instance))
    false = prove_goal(instance, reached, budget=Budget(Clock(60)))
    assert false.proof is None
    assert false.better.value(instance) == pytest.approx(optimum, rel=1e-9)
    assert check_here(instance, data | {"goal": reached}).status == "refused"


def test_the_command_says_by_how_much_a_schedule_may_be_better(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = contended(1)
    optimum, schedule = best_schedule(instance)
    goal = proof.goal(instance, optimum)
    data = as_file(instance, goal, prove_goal(instance, goal, budget=Budget(Clock(60))))
    write_proof(tmp_path / "p.json.gz", data)
    solution = schedule.to_data(instance)
    for name, content in (("i", instance.to_data()), ("s", solution)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("i.json", "p.json.gz", "s.json")]
    assert main(["check", *files]) == 0
    said = capsys.readouterr().out.partition("s.json is ")[2].split()
    value = repr(optimum).removesuffix(".0")
    assert " ".join(said[:8]) == f"optimal within 5e-07 of its value: objective {value},"
    assert said[8:13] == ["no", "schedule", "has", "value", ">="]
    least = -goal / Fraction(proof.units(instance))
    assert least <= Fraction(said[13]) <= Fraction(optimum) * (1 + Fraction(6, 10**7))


@pytest.mark.parametrize("seed", range(25))
def test_optima_are_proved_and_nothing_else(seed: int) -> None:
    hold_to_enumeration(contended(seed))


DRAWN = st.one_of(dmlrs_instances(), dmlrs_instances(wild=True), dmlrs_instances(exact=True))


@settings(max_examples=9, deadline=None)
@given(DRAWN)
def test_optima_of_drawn_instances_are_proved(instance: DmlrsInstance) -> None:
    hold_to_enumeration(instance)


@pytest.mark.nightly
@settings(max_examples=3000, deadline=None)
@given(DRAWN)
def test_thousands_of_drawn_optima_are_proved(instance: DmlrsInstance) -> None:
    hold_to_enumeration(instance)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_thousands_of_optima_are_proved_and_nothing_else(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        hold_to_enumeration(contended(seed))


# --- every schedule that the rules accept ---------------------------------------------------------


def drawn_rows(
    rng: random.Random, instance: DmlrsInstance, j: int, slot: int
) -> list[dict[str, Any]]:
    """Return some workers of a job with their PSs, and spare PSs, on random machines."""
    job, count = instance.jobs[j], len(instance.machines)
    workers = rng.randint(1, job.batch_size)
    ps = (plain_ps(instance, j, workers) or 1) + rng.choice([0, 0, 0, 1, 2])
    chosen = rng.sample(range(count), rng.randint(1, count))
    counts = {h: [0, 0] for h in chosen}
    for kind, number in enumerate((workers, ps)):
        for _ in range(number):
            counts[rng.choice(chosen)][kind] += 1
    return [
        {"job": job.id, "slot": slot, "machine": instance.machines[h].id, "workers": w, "ps": s}
        for h, (w, s) in counts.items()
        if w + s
    ]


def accepted_schedule(rng: random.Random, instance: DmlrsInstance) -> dict[str, Any]:
    """Return a schedule that the rules accept, with spare PSs, workers and slots."""
    schedule: dict[str, Any] = {"admitted": [], "allocations": []}
    for j in rng.sample(range(len(instance.jobs)), len(instance.jobs)):
        job, before, complete = instance.jobs[j], schedule, False
        admitted = [*schedule["admitted"], job.id]
        for slot in range(job.arrival, instance.horizon + 1):
            for _ in range(10 if rng.random() < 0.8 else 0):
                rows = [*schedule["allocations"], *drawn_rows(rng, instance, j, slot)]
                tried = {"admitted": admitted, "allocations": rows}
                faults = {found.rule for found in rules.check(instance, tried, {})}
                if faults <= {"V6"}:
                    schedule, complete = tried, not faults
                    break
            if complete and rng.random() < 0.8:
                break
        schedule = schedule if complete else before
    return schedule


def image(instance: DmlrsInstance, schedule: dict[str, Any], model: proof.Model) -> list[int]:
    """Return the solution of the program that a schedule becomes by the lemma."""
    number = {(t, b): j for t, own in enumerate(model.bundles) for j, b in own.items()}
    point = [0] * len(model.program.cost)
    for i, job in enumerate(instance.jobs):
        rows = [row for row in schedule["allocations"] if row["job"] == job.id]
        if job.id not in schedule["admitted"]:
            continue
        last = max(row["slot"] for row in rows if row["workers"])
        if last not in model.completions[i]:
            assert job.utility.at(last - job.arrival) == 0
            continue
        point[model.completions[i][last]] = 1
        for slot in {row["slot"] for row in rows}:
            own = [row for row in rows if row["slot"] == slot]
            workers = sum(row["workers"] for row in own)
            spare = sum(row["ps"] for row in own) - model.ps_of[i][workers]
            for row in own:
                dropped = min(spare, row["ps"])
                spare -= dropped
                row["ps"] -= dropped
            held = [row for row in own if row["workers"] + row["ps"]]
            internal = len(held) == 1
            usual = [n for t, b in number if t == slot and b.job == i and b.internal == internal
                     for n in (b.workers,)]  # fmt: skip
            bundle = proof.Bundle(i, internal, min(workers, max(usual)))
            point[number[slot, bundle]] = 1
    return point


def hold_images(rng: random.Random, instance: DmlrsInstance) -> int:
    """Check that random schedules are solutions of the program; return how many have a job."""
    model, seen = proof.Model(instance, -1), 0
    bundles = [(t, b) for t, own in enumerate(model.bundles) for b in own.values()]
    rows = list(model.program.rows)
    for _ in range(6 if bundles else 0):
        slot = rng.choice(bundles)[0]
        own = [b for t, b in bundles if t == slot]
        worth = [[b.job, int(b.internal), b.workers, rng.randint(1, 4)] for b in own
                 if rng.random() < 0.6]  # fmt: skip
        cut = {"why": "slot", "slot": slot, "worth": worth}
        rows.append(model.kinds["slot"](model.program, cut))
    for _ in range(5):
        schedule = accepted_schedule(rng, instance)
        value = sum(
            Fraction(job.utility.at(max(row["slot"] for row in schedule["allocations"]
                     if row["job"] == job.id and row["workers"]) - job.arrival))
            for job in instance.jobs if job.id in schedule["admitted"]
        )  # fmt: skip
        point = image(instance, copy.deepcopy(schedule), model)
        cost = sum(c * x for c, x in zip(model.program.cost, point, strict=True))
        assert -cost >= value * proof.units(instance)
        for entries, low, high in rows:
            total = sum(a * point[j] for j, a in entries.items())
            assert (low is None or low <= total) and (high is None or total <= high)
        seen += bool(schedule["admitted"])
    return seen


def test_every_schedule_has_an_image() -> None:
    assert sum(hold_images(random.Random(seed), contended(seed)) for seed in range(25)) > 40


@pytest.mark.nightly
def test_every_one_of_thousands_of_schedules_has_an_image() -> None:
    assert sum(hold_images(random.Random(s), contended(s)) for s in range(1000, 4000)) > 5000


# --- what a slot holds ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(150))
def test_the_limit_of_a_cut_is_the_best_that_a_slot_holds(seed: int) -> None:
    """Against all placements of all jobs."""
    rng, instance = random.Random(seed), contended(seed)
    model = proof.Model(instance, -1)
    own = model.bundles[instance.horizon]
    named = [[*key[:1], int(key[1]), key[2], rng.randint(1, 5)] for key in own.values()]
    named = [item for item in named if rng.random() < 0.7]
    cut = {"why": "slot", "slot": instance.horizon, "worth": named}
    entries, low, limit = model.kinds["slot"](model.program, cut)
    assert low is None
    worth = {bundle: entries.get(j, 0) for j, bundle in own.items()}
    reached = 0
    for chosen in slot_choices(instance):
        held = [proof.Bundle(i, not b, a or b) for i, (a, b) in enumerate(chosen) if a or b]
        if all(bundle in worth for bundle in held):  # no more workers than the whole job needs
            reached = max(reached, sum(worth[bundle] for bundle in held))
    assert limit == reached


def small(**fields: Any) -> DmlrsInstance:
    """Return one job of three worker-slots, two workers at most, on two machines of one GPU."""
    job = {
        "id": "j", "arrival": 1, "epochs": 1, "samples": 1, "batch_size": 2, "gradient_size": 0.5,
        "time_per_sample": 0.0, "worker_ps_ratio": 2, "internal_bandwidth": 1 / 3,
        "external_bandwidth": 1 / 3, "worker_demand": {"gpu": 1, "cpu": 0},
        "ps_demand": {"gpu": 0, "cpu": 1}, "utility": {"type": "table", "values": [8, 5, 2]},
    }  # fmt: skip
    data = {
        "family": "dmlrs", "version": 1, "name": "small", "horizon": 3,
        "resources": ["gpu", "cpu"],
        "machines": [{"id": f"m{h}", "capacity": {"gpu": 1, "cpu": 1}} for h in (1, 2)],
    }  # fmt: skip
    return DmlrsInstance.from_data(data | {"jobs": [job | fields]})


def test_a_bundle_across_machines_is_no_bundle_inside_one() -> None:
    model = proof.Model(small(), -1)
    inside, across = proof.Bundle(0, True, 2), proof.Bundle(0, False, 2)
    assert inside.becomes(across)
    assert not across.becomes(inside)
    cut = {"why": "slot", "slot": 1, "worth": [[0, 1, 2, 5]]}
    assert model.kinds["slot"](model.program, cut) == ({}, None, 0)
    cut["worth"] = [[0, 0, 2, 5]]
    entries, _, limit = model.kinds["slot"](model.program, cut)
    assert limit == 5
    assert [model.bundles[1][j] for j in entries] == [across]


def test_without_the_packing_of_slots_there_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers of 2 GPUs each fit the merged machines, not two machines of 1 and 3 GPUs."""
    machines = [{"id": f"m{g}", "capacity": {"gpu": g, "cpu": 5}} for g in (1, 3)]
    single = {"batch_size": 1, "worker_demand": {"gpu": 2, "cpu": 0}, "internal_bandwidth": 0.5}
    jobs = [small(**single).jobs[0].model_dump() | {"id": name} for name in "ab"]
    fields = {"external_bandwidth": 0.5, "worker_ps_ratio": 1, "gradient_size": 0.25}
    data = small().to_data() | {"machines": machines, "jobs": [job | fields for job in jobs]}
    instance = DmlrsInstance.from_data(data)
    hold_to_enumeration(instance)
    optimum, _ = best_schedule(instance)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    monkeypatch.setattr(prove.SlotSeparator, "__call__", lambda *_: [])
    blind = prove_goal(instance, goal, budget=Budget(Clock(60)))
    assert blind.proof is None
    assert blind.reason == "a better solution exists"
    assert isinstance(blind.better, tuple)  # no schedule: the machines do not hold it


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slot": 0}, "/slot: there is no slot 0"),
        ({"slot": 4}, "/slot: there is no slot 4"),
        ({"slot": "1"}, "/slot: needs a whole number"),
        ({"worth": None}, "/worth: needs a list"),
        ({"worth": [[0, 1, 2]]}, "/worth: needs a job"),
        ({"worth": [[1, 1, 2, 5]]}, "/worth: no bundle of 2 workers of job 1"),
        ({"worth": [[0, 1, 3, 5]]}, "/worth: no bundle of 3 workers of job 0"),
        ({"worth": [[0, 2, 2, 5]]}, "/worth: needs 1 for a single machine, else 0"),
        ({"worth": [[0, 1, 2, 0]]}, "/worth: no bundle of 2 workers of job 0, or no worth"),
        ({"worth": [[0, 1, 2, 1.5]]}, "/worth: needs a whole number"),
    ],
)
def test_a_cut_that_names_no_slot_or_bundle_is_refused(
    change: dict[str, Any], message: str
) -> None:
    model = proof.Model(small(), -1)
    cut = {"why": "slot", "slot": 1, "worth": [[0, 0, 2, 5]]} | change
    with pytest.raises(RefusedError) as caught:
        model.kinds["slot"](model.program, cut)
    assert str(caught.value).startswith(message)


def test_a_search_that_is_too_long_makes_a_cut_weaker_not_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(20):
        instance = contended(seed)
        worth = {b: 1 + b.workers for b in proof.Model(instance, -1).bundles[-1].values()}
        exact = proof.Model(instance, -1).best(worth)[0]
        with monkeypatch.context() as patch:
            patch.setattr(proof, "MAX_STATES", 3)
            assert proof.Model(instance, -1).best(worth)[0] >= exact


def test_two_small_bundles_are_worth_more_than_the_best_one() -> None:
    """Job a needs both GPUs and is worth 5, jobs b and c need one each and are worth 3 each."""
    machine = {"id": "m", "capacity": {"gpu": 2, "cpu": 9}}
    jobs = [
        small().jobs[0].model_dump()
        | {"id": name, "batch_size": 1, "worker_demand": {"gpu": gpus, "cpu": 0}}
        for name, gpus in (("a", 2), ("b", 1), ("c", 1))
    ]
    instance = DmlrsInstance.from_data(small().to_data() | {"machines": [machine], "jobs": jobs})
    worth = {proof.Bundle(i, True, 1): w for i, w in enumerate((5, 3, 3))}
    limit, chosen = proof.Model(instance, -1).best(worth)
    assert limit == 6
    assert {bundle.job for bundle in chosen} == {1, 2}


def test_the_search_for_a_cut_ends_among_the_bundles_of_a_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = proof.Model(small(), -1)
    worth = dict.fromkeys(model.bundles[-1].values(), 1)
    monkeypatch.setattr(proof, "MAX_STATES", 0)
    searched = []
    holds = model._holds
    monkeypatch.setattr(model, "_holds", lambda held: searched.append(held) or holds(held))
    assert len(worth) > 1
    assert model.best(worth)[0] == 1
    assert len(searched) == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_bundle_is_worth_the_most_that_it_can_become(seed: int) -> None:
    rng, model = random.Random(seed), proof.Model(contended(seed), -1)
    slot = rng.randrange(1, len(model.bundles))
    own = model.bundles[slot]
    named = {b: rng.randint(1, 9) for b in own.values() if rng.random() < 0.5}
    worth = [[b.job, int(b.internal), b.workers, w] for b, w in named.items()]
    entries, _, _ = model.kinds["slot"](model.program, {"slot": slot, "worth": worth})
    most = {j: max((w for b, w in named.items() if a.becomes(b)), default=0)
            for j, a in own.items()}  # fmt: skip
    assert entries == {j: w for j, w in most.items() if w}


def test_utilities_of_any_size_have_a_goal() -> None:
    instance = small(utility={"type": "sigmoid", "priority": 1e-9, "sensitivity": 1, "target": 1})
    with pytest.raises(RefusedError, match="there always is a schedule"):
        proof.goal(instance, None)
    assert proof.goal(instance, 0.0) == -1
    value = instance.jobs[0].utility.at(1)
    goal = proof.goal(instance, value)
    assert goal is not None
    assert -goal > Fraction(value) * proof.units(instance)
    assert -goal - 1 < Fraction(value) * proof.units(instance) * (1 + Fraction(5, 10**7))


def test_what_is_too_large_is_refused_soon() -> None:
    many = small(batch_size=100_000)
    hours = DmlrsInstance.from_data(small().to_data() | {"horizon": 10_000, "jobs": [
        small(utility={"type": "sigmoid", "priority": 1, "sensitivity": 1, "target": 1},
              internal_bandwidth=1e-9, external_bandwidth=1e-9).jobs[0].model_dump()
    ]})  # fmt: skip
    for instance in (many, hours, sg.generate("dmlrs", preset="paper", seed=1)):
        begin = time.process_time()
        with pytest.raises(RefusedError, match="program is too large to be"):
            proof.space(instance, -1, {"cuts": []})
        assert time.process_time() - begin < 20


# --- proof files that were changed ----------------------------------------------------------------


def changed_cut(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """Return a proof with one number of one cut changed, or without a cut."""
    data = copy.deepcopy(data)
    cut = rng.choice(data["cuts"])
    item = rng.choice(cut["worth"])
    match rng.randrange(5):
        case 0:
            cut["slot"] += rng.choice([-1, 1])
        case 1:
            item[rng.randrange(4)] += rng.choice([-1, 1, 5])
        case 2:
            cut["worth"].remove(item)
        case 3:
            data["cuts"].remove(cut)
        case _:
            item[1] = 1 - item[1]
    return data


def hold_tampering_to_the_truth(
    instance: DmlrsInstance, optimum: float, seed: int, number: int
) -> tuple[int, int]:
    """Tamper with the proof of an optimum and claim more; return how many cuts and refusals."""
    rng = random.Random(seed)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    data = as_file(instance, goal, prove_goal(instance, goal, budget=Budget(Clock(60))))
    reached = -math.ceil(Fraction(optimum) * (1 - Fraction(1, 10**15)) * proof.units(instance))
    refused = 0
    for _ in range(number):
        other = (
            changed_cut(rng, data) if data["cuts"] and rng.random() < 0.5 else tampered(rng, data)
        )
        assert check_here(instance, other | {"goal": reached}).status == "refused"
        refused += check_here(instance, other).status == "refused"
    return len(data["cuts"]), refused


def test_no_tampering_proves_a_better_bound_than_the_optimum() -> None:
    generated = sg.generate("dmlrs", preset="small", seed=103)
    assert isinstance(generated, DmlrsInstance)
    cuts, refused = hold_tampering_to_the_truth(generated, 72.77120273388306, 0, 60)
    assert cuts > 5
    assert refused > 10
    for seed in range(8):
        instance = contended(seed)
        hold_tampering_to_the_truth(instance, best_schedule(instance)[0], seed, 10)


@pytest.mark.nightly
def test_thousands_of_tamperings() -> None:
    for seed in range(1000, 1400):
        instance = contended(seed)
        hold_tampering_to_the_truth(instance, best_schedule(instance)[0], seed, 25)


class Bounds(NullProgress):
    """Progress that records bounds and schedules."""

    lower = -math.inf

    def __init__(self) -> None:
        self.heard: list[float] = []
        self.schedules: list[DmlrsSchedule] = []

    def incumbent(self, schedule: DmlrsSchedule, objective: float | None = None) -> None:
        """Record a schedule."""
        self.schedules.append(schedule)

    def proved_bound(self, value: float, proof: Proof) -> None:
        """Record a bound."""
        self.heard.append(value)


KIND: dict[str, Any] = {"sense": -1, "grid": 0.0, "step": 0.25}


@pytest.fixture(scope="module")
def optimal() -> tuple[DmlrsInstance, float]:
    """An instance and its optimum."""
    instance = DmlrsInstance.from_data(sg.generate("dmlrs", preset="small", seed=9301).to_data())
    optimum = sg.solve(instance, "exact", proof="off").objective
    assert optimum is not None
    return instance, optimum


def test_trees_prove_bounds_up_to_the_optimum(optimal: tuple[DmlrsInstance, float]) -> None:
    instance, optimum = optimal
    progress = Bounds()
    kind = KIND | {"budget": Budget(Clock(60))}
    found = refute_stage(progress, instance, prove_goal, -1.2 * optimum, -optimum, **kind)
    assert found.complete and progress.heard == sorted(progress.heard)
    assert len(progress.heard) == 4
    assert -found.proved == pytest.approx(optimum, rel=1e-6) and -found.proved > optimum
    goal, written = excluded_value(instance, optimum), found.proof
    assert goal is not None and written is not None
    data = proof_data(instance, goal, vectors=written.vectors, cuts=written.cuts, tree=written.tree)
    assert check_here(instance, data).status == "proved"
    kind = KIND | {"budget": Budget(Clock(0.0))}
    late = refute_stage(progress, instance, prove_goal, -1.2 * optimum, -optimum, **kind)
    assert (late.proof, late.proved) == (None, -math.inf)


def test_a_claim_past_the_optimum_is_not_proved(optimal: tuple[DmlrsInstance, float]) -> None:
    """The tree finds the optimum instead, and then proves it."""
    instance, optimum = optimal
    kind = KIND | {"budget": Budget(Clock(60))}
    progress = Bounds()
    found = refute_stage(progress, instance, prove_goal, -1.1 * optimum, -0.9 * optimum, **kind)
    values = [schedule.value(instance) for schedule in progress.schedules]
    assert found.complete and values == sorted(values)
    assert values[-1] == pytest.approx(optimum, rel=1e-6)
    assert optimum <= -found.proved <= optimum * (1 + 1e-6)


def test_a_better_solution_that_is_not_packed_in_time_is_no_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(*_: Any) -> Any:
        raise OutOfTimeError

    monkeypatch.setattr(prove, "read", stopped)
    found = prove_goal(small(), -1, budget=Budget(Clock(60)))
    assert found.proof is None and isinstance(found.better, tuple)
