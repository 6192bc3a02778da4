"""Traceability of the dmlrs paper: where its equations, lines, claims and slips are in the source.

A table rather than code, hence its length. We have the paper only as a reader's notes: they contain
no theorem, not (29)-(32), and little more of the evaluation than the sizes. The figures and what is
claimed of them are in `figures`.
"""

from schedgap.models.method import Lazy
from schedgap.models.paper import Algorithm, Equation, Erratum, Guarantee, Paper, Symbol

CITATION = (
    "M. Yu, J. Liu, C. Wu, B. Ji, E. S. Bentley. Toward Efficient Online Scheduling for "
    "Distributed Machine Learning Systems. IEEE Transactions on Network Science and Engineering, "
    "2021."
)

PROBLEM = (
    "Machines with several resources serve parameter-server jobs that arrive over the slots 1..T. "
    "On arrival a job is admitted or rejected for good. In each slot an admitted job has some "
    "workers and parameter servers (PSs) on each machine; their numbers may change from slot to "
    "slot at no cost, and the job may be idle. If one machine holds all of them in a slot, they "
    "communicate over its bus; otherwise every worker is as slow as the slowest link. The job must "
    "train all its epochs by T. It then earns a utility that falls with its delay, the slots from "
    "its arrival to the last one with a worker. The sum of utilities is maximised."
)
SCHEDULE = (
    '`{"admitted": ["j1"], "allocations": [{"job": "j1", "slot": 1, "machine": "m1", "workers": 2, '
    '"ps": 1}]}`: one row for each job, slot and machine where the job holds anything. Mode, '
    "progress and completion follow from the rows."
)

SYMBOLS = (
    Symbol("I, i", "jobs", "list", "jobs; online in order of arrival, then of the list"),
    Symbol("T, t", "horizon", "integer in 1..10000", "slots"),
    Symbol("H, h", "machines", "list", "machines; their order breaks ties"),
    Symbol("R, r", "resources", "list of names", "resource types (E1)"),
    Symbol("a_i", "jobs[].arrival", "integer in 1..T", "first slot that the job may use"),
    Symbol("E_i", "jobs[].epochs", "integer >= 1", "passes over the data"),
    Symbol("K_i", "jobs[].samples", "integer >= 1", "samples of a pass"),
    Symbol("V_i", "", "derived", "E_i K_i, samples to train"),
    Symbol(
        "F_i", "jobs[].batch_size", "integer in 1..100000",
        "global batch; limit on the workers (E23)",
    ),
    Symbol(
        "g_i", "jobs[].gradient_size", "> 0, MB",
        "size of the gradients, and of the parameters",
    ),
    Symbol(
        "tau_i", "jobs[].time_per_sample", ">= 0",
        "computing time of a worker for one sample, in slots",
    ),
    Symbol("gamma_i", "jobs[].worker_ps_ratio", ">= 1", "workers per PS"),
    Symbol(
        "b_i^(i), b_i^(e)", "jobs[].internal_bandwidth, external_bandwidth", "> 0, MB per slot",
        "of a machine's bus, and of a link between machines, which is not faster",
    ),
    Symbol(
        "alpha_i^r", "jobs[].worker_demand", ">= 0, 3 decimals",
        "demand of a worker, by resource",
    ),
    Symbol("beta_i^r", "jobs[].ps_demand", ">= 0, 3 decimals", "demand of a PS, by resource"),
    Symbol(
        "C_h^r", "machines[].capacity", ">= 0, 3 decimals",
        "capacity of a machine, by resource",
    ),
    Symbol(
        "u_i", "jobs[].utility", "sigmoid or table",
        "utility of the delay t~_i - a_i; `priority`, `sensitivity`, `target` are theta_1 to "
        "theta_3",
    ),
    Symbol("x_i", "admitted", "ids", "admission"),
    Symbol(
        "w_ih[t], s_ih[t]", "allocations[].workers, ps", "integer >= 0",
        "numbers of workers and PSs",
    ),
    Symbol("t~_i", "", "derived", "last slot with a worker, (6)"),
    Symbol("N_i", "", "derived", "worker-slots that the whole job needs in one mode, from (3)"),
    Symbol("rho_h^r[t], p_h^r[t]", "", "derived", "allocated amount, and price (12)"),
    Symbol(
        "U^r, L", "price_parameters.max_unit_utility, min_unit_utility", "> 0",
        "limits of the price (12), if the file declares them",
    ),
    Symbol(
        "Theta(t, V), theta(t, v)", "", "derived",
        "least cost of V samples by slot t, and of v samples in slot t",
    ),
    Symbol(
        "G_delta, delta, S", "gain, delta, rounds", "options",
        "options of the rounding (27), (28)",
    ),
)  # fmt: skip

RULES = {
    "V1": "Known ids, slots 1..T, whole counts, no row repeated or empty, no job admitted twice.",
    "V2": "(4) A job that is not admitted holds nothing.",
    "V3": "(7) Nothing before the slot of the arrival.",
    "V4": "(4) At most F_i workers in a slot.",
    "V5": "(2) A PS for every gamma_i workers, rounded up, or exactly; no PS without a worker.",
    "V6": "(3) An admitted job trains all of its samples by T.",
    "V7": "(5) In each slot the demand on a machine stays within its capacity.",
}

_DOMAIN = "the domain of the variables"
_LIKE = "one job of (3)-(7)"

EQUATIONS = {
    "1": Equation("checked", ("sample_slots",), "time of a sample; together with (2) it gives (3)"),
    "2": Equation("modelled", ("eq_2",), "rounded up, or exact (E4)"),
    "3": Equation("modelled", ("eq_3",), "in worker-slots of two modes, for every completion slot"),
    "4": Equation("modelled", ("eq_4",)),
    "5": Equation("modelled", ("eq_5",)),
    "6": Equation("modelled", ("eq_6",), "no work after the completion slot (E19)"),
    "7": Equation("implied", (), _DOMAIN),
    "8": Equation(
        "implied",
        ("eq_5",),
        "capacity of the chosen schedules; colgen and colgen-heuristic have it with machines "
        "merged, as arrays",
    ),
    "9": Equation(
        "implied",
        ("lin_once",),
        "at most one completion per job; in colgen and colgen-heuristic one schedule, as arrays",
    ),
    "10": Equation(
        "checked",
        ("priced_bound",),
        "dual value of prices, a bound on every schedule; the program dual-10 minimises it",
    ),
    "11": Equation("modelled", ("eq_11",), "elsewhere by pricing at full capacity (E9)"),
    "12": Equation("checked", ("price",)),
    "13": Equation("checked", ("of_jobs",), "(E6, E7, E8)"),
    "14": Equation("checked", ("of_jobs",), "(E10, E25)"),
    "15": Equation("implied", ("eq_2", "eq_3", "eq_4", "eq_5"), _LIKE),
    "16": Equation("modelled", ("eq_16",), _LIKE + ", with its completion fixed"),
    "17": Equation("implied", ("eq_3",), _LIKE),
    "18": Equation("modelled", ("eq_18",), "capacity that earlier jobs leave free"),
    "19": Equation("implied", ("eq_2", "eq_4", "eq_5"), _LIKE + " and one slot"),
    "20": Equation("modelled", ("eq_20",), "one choice among the bundles that train v samples"),
    "21": Equation(
        "checked",
        ("in_quanta", "on_grid", "exact"),
        "the dynamic program (E17, E18): as printed with dp=literal; the default and dp=exact try "
        "only the v that change the number of workers",
    ),
    "22": Equation("modelled", ("eq_22",), "`internal` has it in closed form (E12)"),
    "23": Equation(
        "replaced",
        ("fix_e3",),
        "with an additional row for PSs (E3); Algorithm 4 solves the relaxation of this program",
    ),
    "24": Equation("modelled", ("eq_24",)),
    "25": Equation("modelled", ("eq_25_26",)),
    "26": Equation("modelled", ("eq_25_26",)),
    "27": Equation("checked", ("draws",)),
    "28": Equation("checked", ("draws",)),
    "29": Equation("background", (), "not in our copy of the paper; not evaluated"),
    "30": Equation("background", (), "not in our copy of the paper; not evaluated"),
    "31": Equation("checked", ("packing_gain",), "derived by us (E21)"),
    "32": Equation("checked", ("cover_gain",), "derived by us (E21)"),
}

ALGORITHMS = {
    "1": Algorithm("Primal-dual online resource scheduling, PD-ORS", 4, "pd_ors"),
    "2": Algorithm("The best schedule of a job", 3, "best_schedule"),
    "3": Algorithm(
        "Theta(t, V), the cheapest schedule by t, by dynamic programming; the default is on_grid",
        5,
        "in_quanta",
    ),
    "4": Algorithm(
        "theta(t, v), the cheapest slot: on one machine, or rounded across machines",
        12,
        "slot_options",
    ),
}

_RUN = ("prices", "price_floor", "dp", "quantum", "grid", "literal_13")  # options

GUARANTEES = {
    "competitive": Guarantee(
        claim="optimum <= 2 alpha kappa times the utility (ours, after the paper's prices)",
        source="ours; the notes hold no theorem",
        methods=("pd-ors", "pd-ors-hull", "pd-ors-greedy"),
        assumptions=(
            "U and L are known beforehand",
            "a schedule that no longer fits costs more than the job's utility",
            "(15) is solved exactly",
            "T L sum C is at most half of the optimum",
        ),
        evaluate=Lazy("schedgap.models.dmlrs.algorithms.guarantees:competitive"),
        verdict=(
            "proved where all four hold, which takes declared prices far above (13); with (13) the "
            "second fails, and on a machine that one job fills the ratio is unbounded"
        ),
        tests=(
            "test_where_its_assumptions_hold_the_ratio_does",
            "test_one_job_that_fills_the_machine_breaks_the_ratio",
            "test_each_assumption_can_fail_alone",
        ),
        options=_RUN,
    ),
    "rounding": Guarantee(
        claim="a draw satisfies its rows at a bounded cost with probability >= 1 - delta",
        source="(31), (32), derived by us",
        methods=("lp-rounding", "pd-ors"),
        assumptions=(
            "the gain is (31) or (32)",
            "delta < 1",
            "W_a > ln(3 (R H + 1) / delta), for (31)",
        ),
        ratio=False,
        evaluate=Lazy("schedgap.models.dmlrs.algorithms.guarantees:rounding"),
        verdict=(
            "(31) is vacuous at the paper's scale, where a machine holds about four workers of a "
            "job; neither gain covers all rows at once"
        ),
        tests=(
            "test_draws_keep_their_rows_as_often_as_the_gains_say",
            "test_no_gain_serves_machines_of_four_workers_at_scale",
            "test_what_the_gains_ask_for",
        ),
        options=(*_RUN, "gain", "delta", "rounds", "one_machine", "problems"),
    ),
    "complexity": Guarantee(
        claim="PD-ORS takes O(sum_i T K_i^2 E_i^2 (H^3 + S)) time",
        source="Time Complexity Analysis",
        methods=("pd-ors",),
        assumptions=(
            "each Theta(t, v) is computed once and kept",
            "the relaxation of (23) takes O(H^3) time",
        ),
        ratio=False,
        evaluate=Lazy("schedgap.models.dmlrs.algorithms.guarantees:complexity"),
        verdict=(
            "not as printed: Algorithm 3 calls itself anew for every v, and so calls Algorithm 4 "
            "C(V + n + 1, n) - 1 times for n slots and V = K_i E_i; with a table, n (V + 1) times, "
            "well within the claim; not polynomial in either case (E31)"
        ),
        tests=("test_algorithm_3_as_printed_is_not_within_the_stated_time",),
        options=(*_RUN, "gain", "delta", "rounds", "one_machine", "problems"),
    ),
}

_EDITORIAL = "A slip of the text only; no schedule depends on it."

ERRATA = {
    "E1": Erratum(
        "table of notation", "R is the number of samples", _EDITORIAL,
        "R are the resource types, as in (5).",
    ),
    "E2": Erratum(
        "(3)", "the denominators are garbled",
        "It is unclear which bandwidth stands where.",
        "tau + (gamma / F) (2 g / b), as in the subproblem (17), b of the mode.",
        "",
        ("test_the_toy_needs_4_worker_slots_inside_a_machine_and_7_2_across",),
    ),
    "E3": Erratum(
        "(23)-(26)", "no row for PSs",
        "The cheapest solution has workers without any PS.",
        "An additional row: as many PSs as n workers need.",
        "ps_row=false",
        ("test_without_the_row_for_parameter_servers_nothing_is_placed_across",),
    ),
    "E4": Erratum(
        "(2)", "w / s = gamma",
        "For most w there is no whole s.",
        "At least w / gamma PSs, rounded up.",
        "`ps_rule` exact in the instance file: only w that are multiples of gamma",
        (
            "test_parameter_servers_are_rounded_up",
            "test_the_exact_rule_allows_only_multiples",
            "test_v5_more_parameter_servers_than_needed_only_without_the_exact_rule",
        ),
    ),
    "E5": Erratum(
        "(3) and the table of settings", "tau in 1e-5 to 1e-4, without a unit; no bandwidths",
        "(3) compares worker-slots with samples, so the unit decides what a job needs.",
        "tau in slots per sample, bandwidths in MB per slot; a slot is an hour unless set.",
        "",
        ("test_the_paper_preset_keeps_to_the_paper_s_ranges",),
    ),
    "E6": Erratum(
        "(13)", "u(duration - a_i)",
        "A duration minus an arrival is not a delay; the best delay is duration - 1.",
        "u(max(0, d - 1)), d = ceil(N_int / F).",
        "literal_13=true",
        ("test_the_range_of_one_job_by_hand",),
    ),
    "E7": Erratum(
        "(13)", "divided by alpha + beta",
        "The divisor is 0 for jobs that do not use the resource.",
        "Such jobs are left out for that resource; if none remains, U is the largest of all U.",
        "",
        ("test_a_resource_that_no_job_uses_takes_the_largest_u",),
    ),
    "E8": Erratum(
        "(13), (14)", "max and min over all jobs",
        "An online algorithm does not know the jobs to come.",
        "prices = declared (in the file), running (from the jobs seen) or oracle (from all jobs).",
        "prices=oracle",
        (
            "test_a_decision_does_not_depend_on_later_jobs",
            "test_only_the_oracle_knows_jobs_to_come",
        ),
    ),
    "E9": Erratum(
        "(11), its proof", "lambda is the payoff of the subproblem with the remaining capacity",
        "Dual feasibility concerns all schedules, including those that no longer fit: the dual "
        "value of a run can be below the optimum.",
        "The bound prices at full capacity.",
        "",
        ("test_any_prices_prove_a_bound",),
    ),
    "E10": Erratum(
        "(14)", "mu is undefined; a parenthesis is missing",
        "L cannot be computed.",
        "ceil(N_ext); mu is the least value for which the first dual value is at most half of the "
        "optimum.",
        "",
        ("test_the_range_of_one_job_by_hand",),
    ),
    "E11": Erratum(
        "(14) with the sigmoid", "u(T - a)",
        "It underflows: U / L reaches 1e13, and prices stay near 0 until a machine is almost full.",
        "Kept; the option price_floor raises L. The figures are drawn with L = 0.001, too.",
        "",
        ("test_a_utility_of_0_at_t_does_not_make_all_prices_0",),
    ),
    "E12": Erratum(
        "(16), (22)", "the sum over resources of minima over s",
        "One s serves all resources; the PSs are bounded, but not the workers.",
        "One number of workers for all resources.",
        "",
        ("test_theta_is_the_least_price_of_any_placement",),
    ),
    "E13": Erratum(
        "Algorithm 4, line 11", "infeasible OR iter < S",
        "It never ends if no draw is feasible, and otherwise always draws S times.",
        "infeasible AND iter < S.",
        "",
        ("test_rounding_ends_where_no_draw_serves",),
    ),
    "E14": Erratum(
        "Algorithm 4, lines 2 and 7", "the machines are sorted again for each h",
        "The order is always the same, and the loop continues after a hit.",
        "Sorted once; the loop ends at the first hit.",
        "",
        ("test_theta_is_the_least_price_of_any_placement",),
    ),
    "E15": Erratum(
        "Algorithm 4, line 1", "D = ceil(v c) is never used",
        "It is the least number of workers that trains v samples.",
        "It is used as that number.",
        "",
        ("test_a_toy_slot_by_hand",),
    ),
    "E16": Erratum(
        "Algorithm 4, line 3", "s is a real number", "Fractions of a PS.", "Rounded up (E4).", "",
        ("test_every_offer_fits_and_has_its_parameter_servers",),
    ),
    "E17": Erratum(
        "Algorithm 3", "no base case; v runs over all samples",
        "The recursion has no end, and V is up to 1e8.",
        "Before the arrival, Theta of 0 samples is 0; only those v are tried that change the "
        "number of workers.",
        "dp=literal",
        ("test_the_dynamic_programs_agree_with_trying_everything",),
    ),
    "E18": Erratum(
        "(20), (21)", "at least v samples, and V - v for the rest",
        "Samples that the rounded-up workers train beyond v are lost.",
        "All trained samples count.",
        "",
        ("test_an_overshoot_on_the_grid_counts",),
    ),
    "E19": Erratum(
        "(6)", "argmax over t of a condition",
        "A condition has no maximum.",
        "The last slot with a worker, even if the work was complete before.",
        "",
        ("test_slots_after_the_work_is_done_count",),
    ),
    "E20": Erratum(
        "text on R-DMLRS; conclusion", "an optimisation problem is NP-complete; no two jobs end "
        "together", _EDITORIAL, "NP-hard; ties are allowed.",
    ),
    "E21": Erratum(
        "(31), (32)", "absent",
        "Algorithm 4 refers to them for G_delta.",
        "Derived by us from Chernoff bounds; the default is a gain of 1.",
        "gain=packing or cover",
        (
            "test_gains_meet_their_tail_bounds",
            "test_no_gain_serves_machines_of_four_workers_at_scale",
        ),
    ),
    "E22": Erratum(
        "table of settings", "a PS has no GPU demand: None",
        "A number is needed.", "0 is used.",
        "", ("test_the_paper_preset_keeps_to_the_paper_s_ranges",),
    ),
    "E23": Erratum(
        "(4)", "at most F_i workers",
        "Said to keep resources from being idle; it is a limit, because each worker needs a sample "
        "of the batch.",
        "Kept.", "", ("test_v4_no_more_workers_than_the_batch",),
    ),
    "E24": Erratum(
        "Fact 1", "internal if P and W are the same machine",
        "A second machine with PSs only makes the slot external, because the workers use those "
        "PSs.",
        "Internal if and only if one machine holds all workers and PSs.",
        "",
        ("test_v6_a_machine_with_parameter_servers_only_makes_a_slot_external",),
    ),
    "E25": Erratum(
        "(14)", "u(T - a) may be 0",
        "Then L = 0, and (12) is 0 times infinity.",
        "Jobs of utility 0 at T are left out of (14); if none remains, L is 1e-6 of the least U; "
        "L is never below 1e-12 of the least U.",
        "",
        ("test_a_utility_of_0_at_t_does_not_make_all_prices_0",),
    ),
    "E26": Erratum(
        "Algorithm 1, line 3", "prices are updated where the schedule holds something",
        "Elsewhere they would not change.", "As printed.",
        "",
        ("test_prices_change_only_where_something_runs",),
    ),
    "E27": Erratum(
        "Algorithm 2, lines 1 and 3", "every completion from a_i on is tried",
        "Completions before the earliest possible one are infeasible.",
        "The search starts at the earliest possible completion.",
        "", ("test_toy_first_completions",),
    ),
    "E28": Erratum(
        "table of settings", "ranges of jobs, with T = 20 or 80",
        "Even alone on enough machines, only 28 % of such jobs can finish in 20 slots, and 60 % "
        "in 80.",
        "The generator redraws jobs that cannot finish.",
        "finishable=false",
        ("test_paper_jobs_can_finish_unless_they_need_not",),
    ),
    "E29": Erratum(
        "evaluation", "FIFO, DRF, Dorm and OASiS, a sentence each",
        "The paper does not say whether a job takes more than it needs, what happens to a job that "
        "is late, and where workers are placed.",
        "Completed by us, slot by slot; only finished jobs are admitted. Dorm's program merges all "
        "machines.",
        "",
        (
            "test_fifo_on_the_toy",
            "test_drf_on_the_toy",
            "test_dorm_keeps_the_rules_and_is_no_better_than_the_optimum",
            "test_oasis_on_the_toy",
            "test_baselines_keep_the_rules_and_are_no_better_than_the_optimum",
        ),
    ),
    "E30": Erratum(
        "(2), rounded", "gamma has no upper limit",
        "With gamma above 1e9, rounding n / gamma would leave workers without any PS.",
        "At least one PS.",
        "",
        ("test_parameter_servers_are_rounded_up",),
    ),
    "E31": Erratum(
        "time complexity analysis", "O(sum_i T K_i^2 E_i^2 (H^3 + S))",
        "K and E are numbers of the input, so that this is not polynomial: V = 1e8 samples take "
        "1e16 steps in each slot.",
        "Only those v are tried that change the number of workers; with dp=grid O(T Q F) per job, "
        "Q steps of the work, beside at most T F relaxations.",
        "dp=literal",
        ("test_the_dynamic_programs_agree_with_trying_everything",),
    ),
    "E32": Erratum(
        "(23) with (12)", "prices from L to U^r",
        "They differ by a factor of 1e13, and a simplex code with a tolerance of 1e-7 stops far "
        "from the optimum of the relaxation.",
        "The costs of each relaxation are scaled by its optimum.",
        "",
        ("test_the_relaxation_is_optimal_at_prices_below_the_tolerance_of_an_engine",),
    ),
}  # fmt: skip

PAPER = Paper(
    citation=CITATION,
    doi="10.48550/arXiv.2108.02917",
    problem=PROBLEM,
    schedule=SCHEDULE,
    symbols=SYMBOLS,
    rules=RULES,
    equations=EQUATIONS,
    algorithms=ALGORITHMS,
    guarantees=GUARANTEES,
    errata=ERRATA,
)
