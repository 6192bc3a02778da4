"""The elastic paper, traced: where its equations, lines, claims and errors stand in this source.

Longer than other modules because it is a table, not code.
"""

from schedgap.models.method import Lazy
from schedgap.models.paper import Algorithm, Equation, Erratum, Guarantee, Paper, Symbol

CITATION = (
    "R. Zhou, J. Pang, Q. Zhang, C. Wu, L. Jiao, Y. Zhong, Z. Li. Online Scheduling Algorithm for "
    "Heterogeneous Distributed Machine Learning Jobs. IEEE Transactions on Cloud Computing, 2022."
)

PROBLEM = (
    "Servers have GPUs, CPUs, memory and bandwidth. A training job runs a given number of epochs "
    "over its data with synchronous gradient descent. For each job choose a worker type, a number "
    "of workers and their servers, a type, number and servers of its parameter servers (PSs), and "
    "a start slot; nothing of it changes until the job ends. More workers make a shorter run, and "
    "a run that sits on one server needs no network and is quicker per mini-batch. In the "
    "Ring-AllReduce version there are no PSs, and the time of a mini-batch depends on the number "
    "of workers. The total weighted completion time is minimised, where slot t is the time from "
    "t - 1 to t and a job that runs d slots from slot t on completes at t + d, one slot later than "
    "it ends. With `objective` = `scheduled_weight` all jobs are available from slot 1, and the "
    "weight of those with start + duration <= deadline is maximised: the problem that the online "
    "algorithm solves for each batch. A schedule may be wasteful: longer, or with more workers or "
    "PSs, than needed."
)
SCHEDULE = (
    '`{"mode": "nonpreemptive", "jobs": {"j1": {"start": 1, "duration": 4, "worker_type": "w1", '
    '"ps_type": "p1", "workers": {"s1": 2, "s2": 1}, "ps": {"s1": 1}}}}`: slots, and counts by '
    "server; servers with none are left out, `mode` may be. In the ring there are no `ps_type` and "
    "`ps`. All jobs are present, or any of them with `scheduled_weight`. Preemptive baselines have "
    '`"mode": "preemptive"`, `restart_slots`, and for each job `segments`, a list of such runs; '
    "every segment but the first loses the restart slots. They leave out rule V12 and no other: "
    "numbers and servers may change from one segment to the next, types may not."
)

SYMBOLS = (
    Symbol("", "architecture", "word", "`parameter_server` (Section 3) or `ring_allreduce` (6)"),
    Symbol("", "objective", "word", "`weighted_completion` (2) or `scheduled_weight` (7)"),
    Symbol("T", "horizon", "integer >= 1", "slots of the time span; also the T of (11)"),
    Symbol("", "horizon_policy", "word", "`open`, or `closed`: no job runs past slot T (E2)"),
    Symbol("tau_i", "deadline", "integer >= 2", "with `scheduled_weight` only"),
    Symbol("R, r", "resources", "ids", "resources; `bandwidth_resource` names that of b_m, B_p"),
    Symbol("H, h", "servers", "list", "servers; their order breaks ties"),
    Symbol("C_h^r", "servers[].capacity", ">= 0", "by resource, in its own unit; absent = 0"),
    Symbol("M, m; P, p", "worker_types, ps_types", "list", "types; no PS types in the ring"),
    Symbol("e_m^r, z_p^r", "demand", "0 or >= 1e-9", "of one worker or PS, by resource"),
    Symbol("b_m, B_p", "demand[bandwidth]", "> 0", "the demand of the bandwidth resource"),
    Symbol("J, j", "jobs", "list", "jobs; their order breaks ties"),
    Symbol("a_j", "jobs[].arrival", "integer >= 1", "first slot in which the job may run"),
    Symbol("w_j", "jobs[].weight", "> 0", "weight in the objective"),
    Symbol(
        "E_j, D_j, K_j", "jobs[].epochs, .chunks, .batches_per_chunk", "integer >= 1",
        "mini-batches in all: their product; at most D_j workers",
    ),
    Symbol("v_jm", "jobs[].train_time", ">= 0", "slots per mini-batch, by worker type"),
    Symbol("U_j^p", "jobs[].update_time", ">= 0", "slots, by PS type; in the ring one number"),
    Symbol("pi_j", "jobs[].gradient_size", ">= 0", "bandwidth unit times slots"),
    Symbol("rho", "", "derived", "mini-batches per slot and worker, (1) or (14)"),
    Symbol("q_j", "", "derived", "all workers and PSs of the job are on one server"),
    Symbol("x_jt, d_j", "start, duration", "integer >= 1", "first slot, number of slots"),
    Symbol("y_jhm, s_jhp", "workers, ps", "integer >= 1", "counts by server"),
    Symbol("c_j", "", "derived", "start + duration"),
    Symbol("Phi", "", "derived", "workers of a ring job, over all servers, (14)"),
    Symbol("Gamma_j, l", "", "derived", "runs of job j, start and placement: the columns of (8)"),
    Symbol("f_jh^r(l)", "", "derived", "what run l of job j takes of a resource of a server"),
    Symbol("x_jl", "", "0 or 1", "whether job j follows run l, (8)"),
    Symbol("u_j", "", "derived", "dual of (8b), (10): weight less the cost of the cheapest run"),
    Symbol("F", "F", ">= 1e-9", "bound on weight over consumption; by default the least valid one"),
    Symbol("lambda", "", "derived", "2 T H R F + 1, the base of the prices (11)"),
    Symbol("gamma", "", "derived", "2 log lambda, the ratio that Theorem 3 claims"),
    Symbol("kappa", "", "derived", "ours: scales weights above the consumption of jobs (E8)"),
    Symbol("delta_h^r(t)", "", "derived", "price of a resource, lambda^(beta/C) - 1, (11)"),
    Symbol("alpha", "alpha", "integer >= 1", "rounds of A_dual; the online algorithm's stretch"),
)  # fmt: skip

RULES = {
    "V0": "The mode is nonpreemptive or preemptive, restart_slots a whole number >= 0.",
    "V1": "(2a) Every job is scheduled, with (7a) any of them; no others.",
    "V2": "(2m) Start and duration are whole slots, at least 1.",
    "V3": "(2j) No job starts before its arrival.",
    "V4": "(7b) start + duration <= deadline; a closed horizon: the last slot is at most T.",
    "V5": "(2b) One worker type that the job has a time for, in all segments; a worker at least.",
    "V6": "(2c) One PS type that the job has a time for, in all segments; in the ring no PSs.",
    "V7": "(2k), (2l) Counts are whole numbers, at least 1, on known servers.",
    "V8": "(2e) At least one PS.",
    "V9": "(2g) At most as many workers as the job has data chunks.",
    "V10": "(2f) with (1) or (14): slots times workers suffice for all mini-batches.",
    "V11": "(2i) The PSs on a server take the bandwidth of the workers on all other servers.",
    "V12": "One uninterrupted run; if preemptive, segments in order that do not overlap.",
    "V13": "(2h) In every slot, what runs on a server fits, of every resource.",
}

_DURATION = "by the duration of each mode, with a tolerance of 1e-6 worker-slots"
_INDEX = "by index sets: no column exists for what it forbids"
_DOMAIN = "the domain of the variables"

EQUATIONS = {
    "1": Equation("implied", ("eq_2f",), "in paper-miqcp; elsewhere " + _DURATION),
    "2": Equation("modelled", (), "the objective"),
    "2a": Equation("modelled", ("eq_2a",)),
    "2b": Equation("modelled", ("eq_2b",), "one type: each mode has one (E26)"),
    "2c": Equation("modelled", ("eq_2c",), "one type: each mode has one (E26)"),
    "2d": Equation(
        "modelled",
        ("eq_2d",),
        "q = 1 puts a job on one server; the converse has no row, as q = 0 only slows it (E7)",
    ),
    "2e": Equation(
        "modelled", ("eq_2e",), "as printed in paper-miqcp; elsewhere PSs on exactly one server"
    ),
    "2f": Equation("modelled", ("eq_2f",), "in paper-miqcp; elsewhere " + _DURATION + " (E26)"),
    "2g": Equation("modelled", ("eq_2g",), "elsewhere no mode has more workers than chunks"),
    "2h": Equation("modelled", ("eq_2h",)),
    "2i": Equation("modelled", ("eq_2i",)),
    "2j": Equation("implied", (), _INDEX),
    "2k": Equation("implied", (), _DOMAIN),
    "2l": Equation("implied", (), _DOMAIN),
    "2m": Equation("implied", (), _DOMAIN + "; at least 1, as a job takes time"),
    "2n": Equation("implied", (), _DOMAIN),
    "2o": Equation("implied", (), "q is part of a mode"),
    "3": Equation("background", (), "what a gamma-approximation means, in Lemma 2"),
    "4": Equation("background", (), "a step of Lemma 2's proof"),
    "5": Equation("background", (), "a step of Lemma 2's proof"),
    "6": Equation("checked", ("windows_needed",), "the alpha that Lemma 2 needs (E13)"),
    "7": Equation("modelled", (), "the objective"),
    "7a": Equation("modelled", ("eq_7a",)),
    "7b": Equation("modelled", ("eq_7b",), "in paper-miqcp; elsewhere " + _INDEX),
    "8": Equation(
        "modelled",
        (),
        "the objective; a column is a start with a placement on the empty cluster that has exactly "
        "the mode's workers and the fewest PSs (E5)",
    ),
    "8a": Equation("modelled", ("eq_8a",)),
    "8b": Equation("modelled", ("eq_8b",)),
    "8c": Equation("implied", (), _DOMAIN),
    "9": Equation("modelled", (), "the objective"),
    "9a": Equation("modelled", ("eq_9a",), "a row for each column of (8) that is built"),
    "9b": Equation("implied", (), _DOMAIN),
    "10": Equation(
        "checked",
        ("dual_rows",),
        "u_j: the weight less the cost of the cheapest schedule, put into (9) with the prices",
    ),
    "11": Equation("checked", ("_after",), "the prices after a schedule is accepted (E8)"),
    "12": Equation(
        "checked",
        ("cheapest_schedule",),
        "the cheapest schedule of one job. Algorithms 4-7 line by line are `subroutines`, which "
        "tests and the study of Theorem 1 compare with it; no method runs them",
    ),
    "12a": Equation("checked", ("cheapest_schedule",), "one start"),
    "13": Equation(
        "checked",
        ("ps_split", "central_costs"),
        "its placement for fixed types, start and duration",
    ),
    "13a": Equation(
        "checked",
        ("ps_split", "central_costs"),
        "central and split placements are searched apart (E7)",
    ),
    "13b": Equation("checked", ("ps_split", "central_costs"), "at most D workers"),
    "13c": Equation("checked", ("ps_split", "central_costs"), "the number of workers"),
    "13d": Equation(
        "checked", ("ps_split", "central_costs"), "bandwidth of PSs: binds when split (E27)"
    ),
    "13e": Equation("checked", ("ps_split", "central_costs"), "at least one PS"),
    "13f": Equation("checked", ("ps_split", "central_costs"), "whole numbers"),
    "13g": Equation("checked", ("ps_split", "central_costs"), "whole numbers"),
    "14": Equation("implied", ("eq_2f",), "in paper-miqcp; elsewhere " + _DURATION + " (E4)"),
    "15": Equation("modelled", (), "the objective"),
    "15a": Equation("replaced", ("eq_2d",), "q as in (2d), without PSs (E3)"),
    "15b": Equation("replaced", ("eq_2h",), "as (2h), without PSs; printed as (15a) (E3)"),
    "16": Equation("modelled", (), "the objective; rows as in (7)"),
    "17": Equation("modelled", (), "the objective; rows as in (8), ring placements"),
    "17a": Equation("replaced", ("eq_8a",), "as (8a)"),
    "17b": Equation("replaced", ("eq_8b",), "as (8b)"),
    "17c": Equation("implied", (), _DOMAIN),
    "18": Equation("modelled", (), "the objective; rows as in (9)"),
    "18a": Equation("replaced", ("eq_9a",), "as (9a)"),
    "18b": Equation("implied", (), _DOMAIN),
    "19": Equation("checked", ("dual_rows",), "as (10)"),
    "20": Equation(
        "checked",
        ("cheapest_schedule",),
        "the cheapest schedule of one ring job: Algorithms 6 and 7",
    ),
    "20a": Equation("checked", ("cheapest_schedule",), "one start"),
    "21": Equation(
        "checked",
        ("ring_split", "central_costs"),
        "its placement for fixed type, number, start (E25)",
    ),
    "21a": Equation(
        "checked",
        ("ring_split", "central_costs"),
        "central and split placements are searched apart",
    ),
    "21b": Equation("checked", ("ring_split", "central_costs"), "the number of workers"),
    "21c": Equation("checked", ("ring_split", "central_costs"), "the duration of a mode"),
    "21d": Equation("checked", ("ring_split", "central_costs"), "whole numbers"),
    "21e": Equation("checked", ("ring_split", "central_costs"), "whole numbers"),
}

ALGORITHMS = {  # methods place by `cheapest_schedule`; 4-7 as printed are for comparison
    "1": Algorithm("An online algorithm, A_online", 11, "a_online"),
    "2": Algorithm("A dual approximation algorithm, A_dual", 4, "a_dual"),
    "3": Algorithm("Total weight maximization, A_maxweight", 16, "a_maxweight"),
    "4": Algorithm("Subroutine for a split job, A_mincost1", 38, "cheapest_split"),
    "5": Algorithm("Subroutine for a central job, A_mincost2", 13, "cheapest_central"),
    "6": Algorithm("Subroutine for a central ring job, A_RAmincost1", 23, "cheapest_ring_central"),
    "7": Algorithm("Subroutine for a split ring job, A_RAmincost2", 25, "cheapest_ring_split"),
}

_OF_THEOREM_3 = (
    "1 <= scaled weight by consumption <= F",
    "no job takes more than 1 / log lambda of a resource of a server",
    "split placements are of least cost",
    "F prices out every job that would overflow a single server and slot",
)
_SUBROUTINES = ("placement", "F", "normalise", "order", "tie")
_AT = "schedgap.models.elastic.algorithms"
GUARANTEES = {
    "theorem_3": Guarantee(
        claim="the optimum is at most 2 log lambda times the scheduled weight",
        source="Theorem 3",
        methods=("a-maxweight",),
        assumptions=_OF_THEOREM_3,
        evaluate=Lazy("schedgap.models.elastic.algorithms.guarantees:theorem_3"),
        verdict=(
            "its proof needs four assumptions (E28), two of which fail at the paper's own scale; "
            "the dual prices of a run give a ratio that holds"
        ),
        tests=("test_each_assumption_can_fail_alone", "test_the_toy_packs_servers_full"),
        options=_SUBROUTINES,
    ),
    "theorem_5": Guarantee(
        claim="value <= 4 alpha times the optimum",
        source="Theorem 5",
        methods=("a-online", "a-online-compact"),
        assumptions=(
            *_OF_THEOREM_3,
            "alpha is at least the theorem's, with the gap of Lemma 2 closed (E13)",
        ),
        evaluate=Lazy("schedgap.models.elastic.algorithms.guarantees:theorem_5"),
        verdict=(
            "rests on Theorem 3 and on Lemma 2, which has a gap (E13); Lemma 1 is sound, so a run "
            "that serves in every round as much weight as could be served is 4 alpha-competitive"
        ),
        tests=(
            "test_lemma_2_has_a_gap",
            "test_a_run_that_serves_all_that_fit_is_certified",
            "test_prices_certify_a_run_that_leaves_jobs_that_would_fit",
        ),
        options=("alpha", "compact", "lemma_1", *_SUBROUTINES),
    ),
    "theorem_1": Guarantee(
        claim="Algorithms 4 and 5 find an optimal solution of (13), split and central",
        source="Theorem 1",
        methods=("a-maxweight",),
        assumptions=("none",),
        evaluate=Lazy(f"{_AT}.guarantees:theorem_1"),
        verdict=(
            "false for Algorithm 4, as printed and with E16 and E17 corrected (E19); "
            "`python -m schedgap.models.elastic.algorithms.theorem_1` counts how often. True for "
            "Algorithm 5 as completed in E20"
        ),
        tests=(
            "test_theorem_1_is_false",
            "test_theorem_1_is_false_even_when_algorithm_4_is_mended",
            "test_the_study_shows_which_variant_fails_how",
            "test_theorem_1_fails_inside_a_run",
        ),
        measure=Lazy(f"{_AT}.guarantees:theorem_1_missed"),
        near=Lazy(f"{_AT}.guarantees:theorem_1_near"),
    ),
    "theorem_2": Guarantee(
        claim="A_maxweight finds a schedule feasible for (7), (8) and prices feasible for (9)",
        source="Theorems 2 and 7",
        methods=("a-maxweight",),
        assumptions=(_OF_THEOREM_3[2], _OF_THEOREM_3[3]),
        ratio=False,
        evaluate=Lazy("schedgap.models.elastic.bounds.dual_prices:theorem_2"),
        verdict=(
            "the schedule is verified; u of (10), (19) and the final prices are put into (9), (18) "
            "on the run. They violate it where F is so small that what overflows is not priced out"
        ),
        tests=("test_the_prices_of_a_run_are_dual_feasible_unless_f_is_small",),
    ),
    "theorem_4": Guarantee(
        claim="A_online runs in time O(log w(J) J M P T^2 log T (H log H + H^2)), or polynomial",
        source="Theorems 4 and 8",
        methods=("a-online",),
        assumptions=("none",),
        ratio=False,
        evaluate=Lazy(f"{_AT}.guarantees:theorem_4"),
        verdict=(
            "not evaluated; the formula leaves out the loop over the workers beside the PSs, and T "
            "makes it pseudo-polynomial. Theorem 8, for rings, has no formula. Figure 7 shows times"
        ),
        tests=("test_what_is_not_evaluated_says_so",),
    ),
    "theorem_6": Guarantee(
        claim="Algorithms 6 and 7 find an optimal solution, central and split",
        source="Theorem 6",
        methods=("a-maxweight",),
        assumptions=("none",),
        ratio=False,
        evaluate=Lazy(f"{_AT}.guarantees:theorem_6"),
        verdict=(
            "true of (20) and (21), not of (16) (E24), for the better of both, once Algorithm 7 is "
            "corrected (E18); not evaluated on an instance"
        ),
        tests=(
            "test_the_cheapest_placement_is_that_of_enumeration",
            "test_the_printed_loops_and_the_search_agree",
        ),
    ),
    "lemma_1": Guarantee(
        claim="value <= 4 alpha times the optimum, if each round serves the best window's weight",
        source="Lemma 1",
        methods=("a-online", "a-online-compact"),
        assumptions=("every round serves at least the weight that one window can serve",),
        evaluate=Lazy(f"{_AT}.a_online:lemma_1_of_run"),
        verdict="sound, with the slips of E34; evaluated on the run, whose `trace` says it as well",
        tests=(
            "test_a_run_that_serves_all_that_fit_is_certified",
            "test_schedules_are_valid_and_keep_what_lemma_1_certifies",
        ),
    ),
    "lemma_2": Guarantee(
        claim="alpha windows of A_dual serve the weight of the best single window",
        source="Lemma 2",
        methods=("a-online",),
        assumptions=("A_maxweight is a gamma-approximation", "alpha satisfies (6)"),
        ratio=False,
        evaluate=Lazy(f"{_AT}.guarantees:lemma_2"),
        verdict="has a gap of one window (E13); not evaluated, as gamma is that of Theorem 3",
        tests=(
            "test_lemma_2_has_a_gap",
            "test_the_repaired_number_of_windows_is_enough_for_the_worst_server",
        ),
    ),
}

_EDITORIAL = "A slip of the text only; nothing in a schedule depends on it."

ERRATA = {
    "E1": Erratum(
        "(2)",
        "c = t + d",
        "A job that runs d slots from slot t on ends at time t + d - 1, one earlier. All values "
        "are the true weighted completion time plus the sum of the weights.",
        "Kept as the objective; the true weighted completion time is reported as well.",
        "",
        (
            "test_a_completion_time_is_one_slot_late",
            "test_the_true_completion_time_is_told_beside_the_objective",
        ),
    ),
    "E2": Erratum(
        "(2)",
        "for all t in [T]",
        "Capacity holds in these slots and starts lie in them, but nothing makes a job end by T, "
        "and A_online itself runs past it.",
        "The horizon is open: capacities persist, and there is no end.",
        "horizon_policy=closed: the last slot of a job is at most T",
        ("test_v4_a_closed_horizon_ends_the_last_slot",),
    ),
    "E3": Erratum(
        "(15a)",
        "two rows with this label",
        _EDITORIAL,
        "The text calls the second one, the capacity, (15b).",
    ),
    "E4": Erratum(
        "(14)",
        "a rate that depends on the number of workers",
        "The left side of (2f), duration times workers times rate, is then not linear in y, even "
        "for a fixed duration; and the duration is not monotone in the number.",
        "Modes: the duration of every number of workers is computed beforehand.",
        "",
        ("test_more_ring_workers_can_be_slower",),
    ),
    "E5": Erratum(
        "text under (8)",
        "schedules that satisfy (7b), (2b), (2c), (2f), (2i), (2k), (2n)",
        "(2d), (2e), (2g) and (2o) are missing, and that one schedule by itself keeps to the "
        "capacities is not asked: the columns contain what (7) forbids.",
        "All of them are put back, and a column fits on the empty cluster: a tighter program.",
        "",
        ("test_the_printed_columns_contain_what_the_program_forbids",),
    ),
    "E6": Erratum(
        "text under (1)",
        "rho is an upper bound of a time",
        _EDITORIAL,
        "rho is a rate; when split it is the least one.",
    ),
    "E7": Erratum(
        "(2d), (13a)",
        "q = 1 if and only if h = h' for all pairs of a worker's and a PS's server",
        "With at least one worker and one PS it says that all is on one server. As a condition of "
        "(13) with q = 0 it forbids a central placement, which would only be quicker.",
        "Whether a run is central is read off its servers.",
        "",
        ("test_whether_a_run_is_central_is_read_off_its_servers",),
    ),
    "E8": Erratum(
        "(11), Theorem 3, both assumptions",
        "log without a base; sums of demands in different units",
        "The denominator of Theorem 5 is that of Lemma 2 with gamma = 2 log lambda for base 2 "
        "only. Adding GPUs to Mbit/s makes F depend on the units of the file.",
        "Base 2; demands are divided by the mean capacity of the resource, and weights scaled.",
        "normalise=false takes raw units",
        (
            "test_the_printed_denominator_is_that_of_lemma_2",
            "test_constants_without_scales_are_sums_of_unlike_units",
        ),
    ),
    "E9": Erratum(
        "Algorithm 1, line 3",
        "while t < tau_i",
        "The text says arrived by time tau_i. Both agree if time tau is the end of slot tau.",
        "The batch of round i are the jobs with arrival <= tau_i. The paper of family edge has the "
        "same line, says `before time tau_i`, and is read so (its E14). With arrival < tau_i here, "
        "most schedules of small instances have another value.",
        "batch=before",
        (
            "test_jobs_are_handed_out_at_their_arrival",
            "test_the_strict_reading_of_a_batch_changes_most_values",
        ),
    ),
    "E10": Erratum(
        "4.1",
        "tau_0 = 1, tau_i = 2^(i-1)",
        "tau_1 = tau_0: the first interval is empty, and since no completion time is below 2, "
        "round 1 can serve no job.",
        "Kept.",
        "",
        ("test_a_completion_time_is_one_slot_late",),
    ),
    "E11": Erratum(
        "text after Theorem 5",
        "alpha may be set in each round",
        "Round i runs from alpha tau_i to alpha tau_{i+1}; with an alpha that falls, rounds "
        "overlap in time and capacity.",
        "One alpha for all rounds; the trace reports the alpha that each round would need.",
        "a-online-compact starts each window when the one before has ended",
        (
            "test_alpha_one_and_the_compact_variant_by_hand",
            "test_the_trace_says_what_was_decided_when",
        ),
    ),
    "E12": Erratum(
        "text after Theorem 5",
        "alpha is close to 4",
        "Theorem 5's alpha is in the hundreds for the paper's own settings; round 1 would start "
        "after the time span.",
        "4 by default.",
        "alpha=theory",
        (
            "test_alpha_of_the_theorem",
            "test_alpha_is_in_the_hundreds_at_the_scale_of_the_paper",
        ),
    ),
    "E13": Erratum(
        "Lemma 2, (6)",
        "floor of the quotient, plus 1",
        "The last step needs the unserved rest of the optimal set, but (5) bounds the weight of "
        "all served jobs, also of those outside that set. Two jobs of weight 10 and 6 that exclude "
        "each other: for gamma = 2 one round of weight 6 is allowed, and 6 < 10.",
        "Reported together with the printed value.",
        "alpha=theory-repaired: ceil of the quotient, plus 1",
        (
            "test_lemma_2_has_a_gap",
            "test_the_repaired_number_of_windows_is_enough_for_the_worst_server",
        ),
    ),
    "E14": Erratum(
        "Algorithm 3, line 6",
        "the schedule is set to itself",
        "When the split schedule is cheaper, it must be taken.",
        "The split schedule is taken.",
        "",
        ("test_a_split_schedule_is_taken_where_none_is_central",),
    ),
    "E15": Erratum(
        "Algorithm 3, line 2",
        "for each job",
        "The order decides what is served, and is not given.",
        "By arrival, then list order.",
        "order=density: by weight over least volume",
        (
            "test_the_first_job_of_a_batch_takes_the_server_for_nothing",
            "test_by_density_the_batch_is_served_as_well_as_can_be",
        ),
    ),
    "E16": Erratum(
        "Algorithm 4, lines 5 and 10",
        "the number of workers still to place is set once for each duration",
        "It is not reset for the next server or the next start slot: later candidates place no "
        "workers at all, cost least and win.",
        "Reset for each server of the PSs.",
        "",
        (
            "test_workers_are_counted_afresh_for_every_server_of_the_pss",
            "test_the_literal_algorithm_4_places_no_workers",
            "test_the_study_shows_which_variant_fails_how",
        ),
    ),
    "E17": Erratum(
        "Algorithm 4, lines 14-20",
        "the last feasible number g of workers on the server of the PSs",
        "g = N leaves no worker elsewhere and gives 0 PSs; the candidate is rejected in line 25 "
        "though a smaller g is feasible.",
        "g is at most N - 1, and there is at least one PS.",
        "",
        (
            "test_one_worker_at_least_is_away_from_the_pss",
            "test_a_last_worker_beside_the_parameter_servers_spoils_the_candidate",
        ),
    ),
    "E18": Erratum(
        "Algorithm 7, lines 5-14",
        "the workers still to place start at the duration; windows are closed; indices k and h",
        "The counter starts at a wrong variable and is never reset; the window has one slot too "
        "many; the loop visits servers in list order although they were sorted; and one server "
        "may take all workers, which is not a split placement.",
        "The counter is reset to N for each start; half-open windows; sorted servers; a fill of "
        "one server is discarded.",
        "",
        ("test_a_ring_that_one_server_holds_is_not_split",),
    ),
    "E19": Erratum(
        "Theorem 1",
        "Algorithm 4 is optimal for (13)",
        "False even with E16 and E17 corrected: cheap servers are filled first, although workers "
        "on the server of the PSs save PSs. It may also miss the only feasible placement.",
        "An exact placement.",
        "placement=repaired",
        (
            "test_theorem_1_is_false_even_when_algorithm_4_is_mended",
            "test_algorithm_4_can_miss_that_there_is_a_placement",
        ),
    ),
    "E20": Erratum(
        "Algorithm 5, line 6",
        "compute y and s with (2h) and (13a)",
        "It does not say how.",
        "N workers and one PS on the server; N and the duration by the central rate.",
        "",
        ("test_the_cheapest_placement_is_that_of_enumeration",),
    ),
    "E21": Erratum(
        "Algorithms 3 and 4",
        "strictly less",
        "All prices are 0 at first, so all costs tie, and the first worker type, the first PS "
        "type and the shortest duration win.",
        "The printed order.",
        "tie=volume: least volume, then earliest end",
        ("test_ties_by_volume_take_the_least_volume_then_the_earliest_end",),
    ),
    "E22": Erratum(
        "6.3",
        "the rate of a split ring job without the time of the exchange",
        "It contradicts (14) and the text on Algorithm 7.",
        "With it.",
        "",
        ("test_more_ring_workers_can_be_slower",),
    ),
    "E23": Erratum(
        "5.2 and 6.3",
        "the subroutine with number 1 is for split jobs with PSs and for central jobs in the ring",
        _EDITORIAL,
        "Told apart by q.",
    ),
    "E24": Erratum(
        "Theorem 6",
        "optimal solution of problem (16)",
        "(16) is the batch problem. " + _EDITORIAL,
        "Read as (20) and (21).",
    ),
    "E25": Erratum(
        "(20), (21)",
        "a minimum over y and s; equality in (12a), (20a) with the deadline (7b)",
        "There is no s in the ring. " + _EDITORIAL,
        "Over y.",
    ),
    "E26": Erratum(
        "(2f)",
        "for all p with a PS",
        "There is none in the ring, where the rate depends on the number of workers as well.",
        "Modes: worker type, PS type, number and q fix the duration.",
        "",
        ("test_the_toy_has_its_durations", "test_more_ring_workers_can_be_slower"),
    ),
    "E27": Erratum(
        "text under (13)",
        "(13d) is satisfied naturally",
        "Only if all is on one server.",
        "Imposed on split placements.",
        "",
        ("test_v11_parameter_servers_take_the_bandwidth_of_workers_elsewhere",),
    ),
    "E28": Erratum(
        "Theorem 3",
        "ratio 2 log lambda",
        "It needs optimal subroutines (E19), prices so high that a schedule that exceeds the "
        "capacity costs more than its weight, demands below 1 / log lambda of a server, which "
        "Algorithm 4 itself violates, and scaled weights.",
        "The ratio is given with the list of the assumptions that the instance does not meet.",
        "",
        (
            "test_the_toy_packs_servers_full",
            "test_each_assumption_can_fail_alone",
        ),
    ),
    "E29": Erratum(
        "7, settings",
        "capacity is 0.2-0.5 of the demand; servers are EC2 instances; there are 150 of them",
        "Any two of these fix the third.",
        "EC2 sizes; the figures rescale them, so that all three hold.",
        "capacity_fraction rescales them",
        (
            "test_capacity_is_scaled_to_the_part_of_what_the_jobs_ask_for",
            "test_the_capacity_is_in_the_range_of_the_paper",
        ),
    ),
    "E30": Erratum(
        "Fig. 9",
        "p3.4xlarge and p2.2xlarge",
        "EC2 has no such sizes.",
        "Two GPUs and twice the vCPUs and memory of p3.2xlarge and p2.xlarge. Training is quicker "
        "from p2.xlarge to p2.2xlarge, p3.2xlarge and p3.4xlarge.",
        "",
        ("test_the_ec2_sizes_of_figure_9_are_worker_types_from_slow_to_fast",),
    ),
    "E31": Erratum(
        "7, settings",
        "figures for GPUs, CPUs and bandwidth",
        "3.1 names memory as a fourth resource, without figures.",
        "4 GiB for each GPU and 0-12 GiB more for a worker, 4-16 GiB for a PS.",
        "",
        ("test_the_paper_preset_keeps_to_the_ranges_of_section_7",),
    ),
    "E32": Erratum(
        "Fig. 10",
        "more workers for each job, less total weighted completion time",
        "Not in general: rounding, the exchange between servers and packing all cost time.",
        "A claim of Figure 10, judged on every draw.",
        "",
        (
            "test_more_ring_workers_can_be_slower",
            "test_a_claim_holds_on_the_values_that_the_paper_describes_and_fails_on_others",
        ),
    ),
    "E33": Erratum(
        "7, (iii) and (iv)",
        "preemptive baselines for a problem without preemption",
        "They solve another problem.",
        "Their schedules are marked preemptive, lose slots at each restart, violate rule V12 only "
        "and get no ratio.",
        "",
        (
            "test_v12_segments_lose_the_slots_of_a_restart",
            "test_v5_v6_segments_keep_the_types_of_the_first",
        ),
    ),
    "E34": Erratum(
        "proof of Lemma 1",
        "the served weight twice, where the second is the optimum's; the online completion times "
        "at the end",
        _EDITORIAL,
        "The second sum is over J_i*, and the last is over c_j*.",
    ),
    "E35": Erratum(
        "Algorithms 2 and 3, line 1",
        "Delta_h^r(0)",
        _EDITORIAL,
        "The symbol is not defined; delta(0) = 0.",
    ),
}

PAPER = Paper(
    citation=CITATION,
    doi="10.1109/TCC.2022.3143153",
    problem=PROBLEM,
    schedule=SCHEDULE,
    symbols=SYMBOLS,
    rules=RULES,
    equations=EQUATIONS,
    algorithms=ALGORITHMS,
    guarantees=GUARANTEES,
    errata=ERRATA,
)
