"""Trace of the ring paper: its equations, algorithms, claims and errata, and where they are here.

`docs/ring.md` is generated from these tables.
"""

from schedgap.models.method import Lazy
from schedgap.models.paper import Algorithm, Equation, Erratum, Guarantee, Paper, Symbol

CITATION = (
    "M. Yu, B. Ji, H. Rajan, J. Liu. On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant "
    "GPU Clusters with Communication Contention. ACM MobiHoc, 2022."
)

PROBLEM = (
    "A cluster has servers, each with identical GPUs. All jobs are available at the start. A job "
    "asks for a number of GPUs and a number of training iterations; its workers, one on each GPU, "
    "form a ring. All of its GPUs are taken at one instant, held until the job is complete, "
    "without preemption or migration, and released together. Choose when each job starts and how "
    "many of its workers sit on each server. A ring inside one server talks over the fast inner "
    "bandwidth. A ring over several servers talks over the slow network; on each of its servers it "
    "contends with every other such ring that runs there, and the most contended of these servers "
    "sets its speed. "
    "Each further server costs latency in every iteration. So a job's speed changes whenever a "
    "ring that shares a server with it starts or ends, and starting a job earlier can make the "
    "schedule longer. Minimise the makespan, the last slot of the last job, where slot t is the "
    "time from t - 1 to t."
)
SCHEDULE = (
    '`{"jobs": [{"job": "a", "start": 1, "end": 4, "placement": {"s1": 3, "s2": 1}, "gpus": {"s1": '
    '[0, 1, 2], "s2": [0]}}], "order": ["a"], "theta": 15, "kappa": 4}`: first and last slot, '
    "workers by server (servers with none are left out), and the numbers of the GPUs from 0, which "
    "may be left out: whenever the counts fit, numbers exist. `order`, `theta`, `kappa` and `log` "
    "say how an algorithm found the schedule. The end is the result of the simulation: the slot in "
    "which the last iteration completes."
)

SYMBOLS = (
    Symbol("T", "horizon", "integer in 1..100000", "every job is complete by the end of this slot"),
    Symbol("S, s", "servers", "list", "servers; their order breaks ties"),
    Symbol("O_s", "servers[].gpus", "integer >= 1", "identical GPUs of a server"),
    Symbol("N", "", "derived", "GPUs of all servers"),
    Symbol("J, j", "jobs", "list", "jobs; their order breaks ties"),
    Symbol("G_j, w_j", "jobs[].gpus", "integer >= 1", "GPUs asked for, workers of the ring"),
    Symbol("F_j", "jobs[].iterations", "integer >= 1", "iterations to do"),
    Symbol("m_j", "jobs[].gradient_size", ">= 0", "gradients, in units of data"),
    Symbol("M_j", "jobs[].batch_size", "integer >= 1", "samples of a mini-batch"),
    Symbol("Delta^f_j", "jobs[].forward_time_per_sample", ">= 0", "slots per sample"),
    Symbol("Delta^b_j", "jobs[].backward_time", ">= 0", "slots per iteration"),
    Symbol(
        "rho-hat_j", "jobs[].estimated_slots", "> 0",
        "execution time that the algorithms assume; default: that of the best placement (E12)",
    ),
    Symbol("lambda_j", "jobs[].spread_factor", ">= 1", "server budget in Algorithm 3; default 1"),
    Symbol("b^e, b^i", "bandwidth_between, bandwidth_within", "> 0", "units of data per slot"),
    Symbol("C", "compute_speed", "> 0", "units of data that a GPU reduces per slot"),
    Symbol("xi_1", "contention_factor", "in (0, 1]", "contention per ring, (7)"),
    Symbol("xi_2", "overhead_per_server", "in [0, 1]", "slots per iteration and server (E3)"),
    Symbol(
        "f, alpha", "degradation", "kind, alpha in 0..10",
        "`linear`: k + alpha (k - 1), the paper's example; `power`: k^(1 + alpha), ours",
    ),
    Symbol("", "clamp_contention", "true or false", "k = max(1, xi_1 p) (E2); default true"),
    Symbol("", "rate_scale", "integer in 1..10000", "progress units per iteration; default 1 (E4)"),
    Symbol("y_js[t]", "placement", "integer >= 1", "workers by server, while the job is active"),
    Symbol("a_j, T_j", "start, end", "integer in 1..T", "first and last active slot (E6)"),
    Symbol("J[t]", "", "derived", "active jobs, from the first to the last slot of each"),
    Symbol("p_j[t]", "", "derived", "contention level of (6); 0 inside one server"),
    Symbol("k_j[t]", "", "derived", "contending jobs on average, xi_1 p_j[t] and at least 1 (E2)"),
    Symbol("B_j", "", "derived", "bandwidth of the slowest link, b^i inside one server or b^e / f"),
    Symbol("gamma_j", "", "derived", "latency per iteration, xi_2 times the servers of the job"),
    Symbol("tau_j[t]", "", "derived", "slots per iteration, (8): a function of n servers and p"),
    Symbol("phi_j[t]", "", "derived", "iterations per slot, rounded down"),
    Symbol("rho_j", "", "derived", "execution time, end - start + 1, from d_j to D_j"),
    Symbol("u, l, phi", "", "derived", "error factors of the estimates, and max D_j / d_j"),
    Symbol("Y", "", "set", "feasible schedules of all jobs; enumerated for tiny instances only"),
    Symbol("y_j^k", "", "derived", "schedule number k of Y, the part of job j"),
    Symbol("x_j^k", "", "0 or 1", "whether job j follows schedule k, (10)-(13)"),
    Symbol("G_j(y^k)", "gpus", "set of GPUs", "GPUs of job j in schedule k"),
    Symbol("W_jg^k", "", "derived", "execution time that job j adds to GPU g in schedule k"),
    Symbol("theta_u", "theta", "integer in 1..T", "limit on the load of every GPU"),
    Symbol("kappa", "kappa", "integer >= 1", "size up to which Algorithm 2 places a job (E23)"),
    Symbol("U_s^g", "", "derived", "estimated load of a GPU during a run"),
)  # fmt: skip

RULES = {
    "V1": "(11) Every job is scheduled exactly once, and no other job is.",
    "V2": "Starts are whole slots in 1..T.",
    "V3": "(5) A job has a placement: whole numbers >= 1 on known servers.",
    "V4": "(1) A job has as many workers as it asks for GPUs.",
    "V5": "(9) The job is complete by the end of slot T.",
    "V6": "(9) The stated end is the slot in which the simulation completes the job.",
    "V7": "(2), (3), (4) In no slot does a server have more workers than GPUs.",
    "V8": "GPU numbers, where stated, match the placement; no GPU has two jobs in one slot.",
}

_DOMAIN = "the domain of the variables"
_TABLE = "data: the finite table of rates"

EQUATIONS = {
    "1": Equation("modelled", ("eq_1", "eq_1_t")),
    "2": Equation("modelled", ("eq_2",)),
    "3": Equation("modelled", ("eq_3_act", "eq_3_w")),
    "4": Equation("modelled", ("eq_4", "eq_3_act")),
    "5": Equation(
        "replaced",
        ("eq_5_use", "eq_5_most", "eq_5_full", "eq_5_one", "eq_5_num", "eq_5_count"),
        "whole numbers >= 0, positive where a server is used (E8)",
    ),
    "6": Equation(
        "modelled",
        ("eq_6_c", "eq_6_L", "eq_6_lev", "eq_6_lev_act", "eq_6_lev_up"),
        "as inequalities in one direction, which suffices (E1)",
    ),
    "7": Equation(
        "checked",
        ("_iterations_per_slot",),
        "data: `degradation_factor` of the instance, once for each p (E2)",
    ),
    "8": Equation("checked", ("_iterations_per_slot", "iteration_slots"), _TABLE),
    "9": Equation(
        "modelled",
        ("eq_9", "eq_9_one"),
        "as inequalities in one direction, which suffices (E5, E6)",
    ),
    "10": Equation("modelled", ("eq_10",), "summed over the schedules (E9)"),
    "11": Equation("modelled", ("eq_11",)),
    "12": Equation("modelled", ("eq_12",)),
    "13": Equation("implied", (), _DOMAIN),
    "14": Equation(
        "background", (), "a constant; `theta-feasible` minimises the limit of (16) instead"
    ),
    "15": Equation("implied", ("eq_16",), "the coefficients of (16) (E10)"),
    "16": Equation("modelled", ("eq_16",)),
}

ALGORITHMS = {
    "1": Algorithm("Smallest job first with balanced contention, SJF-BCO", 24, "sjf_bco"),
    "2": Algorithm("Fragment-aware first-fit packing, FA-FFP", 10, "fa_ffp"),
    "3": Algorithm("Least busy server-GPU first, LBSGF", 13, "lbsgf"),
}

GUARANTEES = {
    "theorem_5": Guarantee(
        claim="makespan <= n_g phi (u/l) optimum",
        source="Theorem 5",
        methods=("sjf-bco",),
        assumptions=(
            "some job asks for two GPUs or more",
            "every job makes progress at every contention level",
            "in some run with kappa >= n_g the limit excludes no idle GPU",
        ),
        evaluate=Lazy("schedgap.models.ring.algorithms.guarantees:theorem_5"),
        verdict=(
            "false for jobs of one GPU, and its proof breaks at Lemmas 2-4 (E24); where the "
            "assumptions hold the inequality follows from an argument of ours, which gives about "
            "3.1 at the paper's size instead of 76"
        ),
        tests=(
            "test_theorem_5_is_refuted_by_w2",
            "test_theorem_5_is_off_by_up_to_two",
            "test_theorem_5_stands_where_list_scheduling_carries_it",
        ),
        ours=True,
    ),
    "theorem_1": Guarantee(
        claim=(
            "no algorithm approximates (10) within O(log n_g / 2^sqrt(log log n_g)), unless P = NP"
        ),
        source="Theorem 1",
        methods=("sjf-bco",),
        assumptions=("none",),
        ratio=False,
        evaluate=Lazy("schedgap.models.ring.algorithms.guarantees:theorem_1"),
        verdict=(
            "not evaluated, as no instance can show it; the proof is of a problem in which each "
            "job has given GPUs, while RAR-DDLS leaves the choice to the scheduler (E25)"
        ),
        tests=("test_theorem_1_colours_jobs_with_given_gpus",),
    ),
    "lemma_2": Guarantee(
        claim="the largest load of a GPU is the limit: W-hat = theta-tilde",
        source="Lemma 2",
        methods=("sjf-bco",),
        assumptions=("the limit is the least feasible one, and a load",),
        ratio=False,
        evaluate=Lazy("schedgap.models.ring.algorithms.guarantees:lemma_2"),
        verdict="false: only W-hat <= theta-tilde; evaluated on the run (E24)",
        tests=("test_lemma_2_and_lemma_4_by_w2", "test_what_the_statements_say_of_a_run"),
    ),
    "lemma_3": Guarantee(
        claim="makespan <= n_g W-hat",
        source="Lemma 3",
        methods=("sjf-bco",),
        assumptions=(
            "no estimate is above the execution time",
            "a job waits for its own GPUs only",
        ),
        ratio=False,
        evaluate=Lazy("schedgap.models.ring.algorithms.guarantees:lemma_3"),
        verdict="false; evaluated on the run (E24)",
        tests=(
            "test_lemma_3_fails_where_an_estimate_is_too_long",
            "test_what_the_statements_say_of_a_run",
        ),
    ),
    "lemma_4": Guarantee(
        claim="theta-tilde <= phi (u/l) theta_u*",
        source="Lemma 4",
        methods=("sjf-bco",),
        assumptions=("none",),
        ratio=False,
        evaluate=Lazy("schedgap.models.ring.algorithms.guarantees:lemma_4"),
        verdict=(
            "false: least loaded first does not balance loads; evaluated on the run, with a bound "
            "in place of theta_u* (E24), which `theta-feasible` computes"
        ),
        tests=("test_lemma_2_and_lemma_4_by_w2", "test_what_the_statements_say_of_a_run"),
    ),
    "theorem_6": Guarantee(
        claim="SJF-BCO takes O(n_g |J| N log N log T) time",
        source="Theorem 6",
        methods=("sjf-bco",),
        assumptions=("the simulation of a run is not counted",),
        ratio=False,
        evaluate=Lazy("schedgap.models.ring.algorithms.guarantees:theorem_6"),
        verdict=(
            "true without the simulation of T_j, which adds the number of events times the rings "
            "that each of them touches to every run; the number of runs is evaluated"
        ),
        tests=("test_what_the_statements_say_of_a_run",),
    ),
}

ERRATA = {
    "E1": Erratum(
        "(6)",
        "a maximum over servers of an indicator times a sum",
        "For a job inside one server no server counts, and the maximum is 0; for a ring over "
        "several servers the sum includes the job itself.",
        "p = 0 inside one server, else p >= 1.",
        "",
        ("test_a_job_on_one_server_neither_slows_nor_is_slowed", "test_w1_has_its_rates"),
    ),
    "E2": Erratum(
        "(7) and the text on f",
        "k = xi_1 p; f(alpha, 1) = 1, and f increases",
        "With xi_1 p < 1 the factor f is below 1, so that sharing makes a link faster; the "
        "linear f is even negative for k < alpha / (1 + alpha).",
        "k = max(1, xi_1 p).",
        "clamp_contention=false in the instance file",
        (
            "test_degradation_factors",
            "test_a_negative_degradation_factor_is_refused",
            "test_literal_contention_asks_for_more_bandwidth_within",
        ),
    ),
    "E3": Erratum(
        "4.1 and 7",
        "xi_2 in (0, 1], and xi_1 = xi_2",
        "xi_2 is in slots per server, where an iteration takes 0.01 to 0.05 slots. To cost "
        "at most 15% more time it must be below about 0.0004; an equally small xi_1 would mean no "
        "contention at all.",
        "The file gives xi_2 in slots. In the generator `xi` is xi_1, and xi_2 is derived from the "
        "15%.",
        "",
        ("test_the_extra_share_is_met_in_the_reference_state",),
    ),
    "E4": Erratum(
        "the text below (8)",
        "phi = floor(1 / tau)",
        "It is 0 where an iteration takes more than a slot: the job never ends. With tau = 0.05 it "
        "loses up to 5%.",
        "Kept: a job without progress leaves no schedule.",
        "rate_scale > 1 in the instance file: progress in parts of an iteration",
        ("test_a_job_without_progress_never_ends", "test_a_finer_scale_loses_less"),
    ),
    "E5": Erratum(
        "(9)",
        "argmin over t of a condition on the sum over all t",
        "t is bound twice, and the sum over the whole horizon does not depend on it.",
        "The least d such that all iterations are done in slots a_j..a_j + d - 1.",
        "",
        ("test_w1_an_interior_start_ends_first",),
    ),
    "E6": Erratum(
        "(9), J[t], Algorithms 2 and 3",
        "T_j = a_j + d",
        "A job of d slots from a_j on has its last one in a_j + d - 1, which is what the "
        "algorithms compute; in the closed interval [a_j, a_j + d] it would occupy its GPUs for "
        "d + 1 slots.",
        "T_j is the last active slot. Every makespan is one less than by (9), and `makespan_eq9` "
        "is reported beside it.",
        "",
        ("test_measures", "test_ends_in_the_last_slot_count_for_the_whole_slot"),
    ),
    "E7": Erratum(
        "4.1",
        "a_j is the first t with y_js[t] > 0 for all s",
        "It asks for a worker on every server.",
        "On some server, as Section 5 writes.",
        "",
        ("test_a_job_need_not_be_on_every_server",),
    ),
    "E8": Erratum(
        "(5)",
        "y_js[t] is a positive integer for all servers of an active job",
        "Again every job would be on every server.",
        "Whole numbers >= 0, positive where the job uses the server.",
        "",
        ("test_a_job_need_not_be_on_every_server",),
    ),
    "E9": Erratum(
        "(10)",
        "max over j of x_j^k (a_j + rho_j)",
        "The index k is unbound.",
        "Summed over k; by (11) exactly one term remains.",
        "",
        ("test_the_best_of_a_pool_is_chosen",),
    ),
    "E10": Erratum(
        "(15)",
        "for all GPUs g",
        "Every GPU would be charged with every job; the least limit would be the sum of all "
        "estimates, above the optimum.",
        "For the GPUs that the job's schedule uses.",
        "",
        ("test_to_charge_every_gpu_with_every_job_bounds_nothing",),
    ),
    "E11": Erratum(
        "5, 1)",
        "k_j is at most max O_s; a job uses 1 to G_j servers",
        "k_j is xi_1 p_j; p_j is also at most the number of jobs with two GPUs or more; and the "
        "number of servers is at least what the job needs, and at most all of them.",
        "These ranges, for the estimates of d_j and D_j.",
        "",
        ("test_rings_that_can_meet", "test_w1_has_its_numbers"),
    ),
    "E12": Erratum(
        "5 and 6",
        "rho-hat_j(y^k)",
        "An estimate that depends on the schedule cannot be an input of Algorithm 1; Section 7 "
        "gives one number for each job.",
        "One number: as given, else F_j tau_j at the best placement.",
        "",
        ("test_w1_has_its_numbers",),
    ),
    "E13": Erratum(
        "Algorithm 1, lines 14-18",
        "break, then compare m_theta^kappa",
        "A run that stops early has the makespan of a partial schedule, or -1 if its first job is "
        "not placed, and so looks best.",
        "Such a run is discarded.",
        "",
        ("test_a_run_that_found_no_place_counts_for_nothing",),
    ),
    "E14": Erratum(
        "Algorithm 1, lines 4, 6, 19",
        "m starts at T, and must be beaten",
        "A schedule whose makespan is exactly T is never accepted.",
        "m starts at infinity; makespans up to T are accepted.",
        "",
        ("test_a_makespan_of_exactly_the_horizon_is_accepted",),
    ),
    "E15": Erratum(
        "Algorithm 1, lines 17-23",
        "inside the loop over jobs",
        "Partial schedules would be compared, and the limit would move after every job.",
        "17-18 after the loop over jobs, 19-23 after the loop over kappa.",
        "",
        ("test_it_is_algorithm_1",),
    ),
    "E16": Erratum(
        "Algorithms 2 and 3, lines 5 and 8",
        "T_j is returned when the job is placed",
        "Rings that start later slow the job down.",
        "T_j is read from the simulation once all jobs have started.",
        "",
        ("test_a_ring_that_starts_later_delays_those_that_run",),
    ),
    "E17": Erratum(
        "Algorithm 1, lines 19-23",
        "the limit falls only if the makespan has improved",
        "A feasible limit with the same makespan sends the search upwards for good, so that it "
        "need not find the least feasible limit.",
        "Kept.",
        "bisection=feasibility, or scan",
        ("test_bisection_by_improvement_can_miss_the_least_feasible_limit",),
    ),
    "E18": Erratum(
        "Algorithm 1, line 6",
        "theta_u = (left + right) / 2",
        "It may be fractional, while left and right move by 1.",
        "Rounded down.",
        "",
        ("test_the_rings_of_w1_meet",),
    ),
    "E19": Erratum(
        "Algorithm 2",
        "first-fit packing; shared servers first",
        "Line 4 takes the least loaded GPUs of the cluster, which is the baseline LS up to the "
        "order of the jobs, and opens new servers first.",
        "Line 4; ties go to servers that have already had jobs.",
        "ffp_rule=pack does what the name says",
        ("test_w3_by_threshold", "test_packing_prefers_a_server_that_has_had_work"),
    ),
    "E20": Erratum(
        "Algorithm 2, line 2, and Algorithm 3, line 5",
        "available GPUs within the limit; idle GPUs",
        "Loads never decrease, so that waiting for a job to exit helps only if available means "
        "idle at this moment.",
        "Idle now, and within the limit.",
        "",
        ("test_a_limit_that_no_gpu_keeps_ends_the_run",),
    ),
    "E21": Erratum(
        "Algorithm 3, line 2",
        "the top m servers with sum O_s >= lambda_j G_j",
        "m is also the makespan; and the sum may never be reached.",
        "The shortest such prefix; all servers if there is none.",
        "",
        ("test_a_larger_lambda_looks_at_more_servers",),
    ),
    "E22": Erratum(
        "Algorithm 3, lines 5-7",
        "sorted GPUs appended server by server, then the least loaded ones",
        "The order of the list and the order by load differ.",
        "The least loaded ones of all of these servers.",
        "lbsgf_rule=list",
        ("test_it_is_algorithm_1",),
    ),
    "E23": Erratum(
        "5, 4)",
        "kappa controls the number of maximum servers",
        "It is compared with the sizes of jobs.",
        "A threshold on G_j.",
        "",
        ("test_w3_by_threshold",),
    ),
    "E24": Erratum(
        "Lemmas 2-4, Theorem 5",
        "makespan <= n_g phi (u/l) optimum",
        "Lemma 2: loads may stay below the limit. Lemma 3: GPUs are busy for rho, not for "
        "rho-hat / u. Lemma 4: least loaded first is list scheduling and does not find the least "
        "limit. With jobs of one GPU and exact estimates the theorem would make list scheduling "
        "optimal on identical machines.",
        "Reported with the assumptions that fail, and with a bound of our own where that applies.",
        "",
        (
            "test_lemma_2_and_lemma_4_by_w2",
            "test_lemma_3_fails_where_an_estimate_is_too_long",
            "test_theorem_5_is_refuted_by_w2",
        ),
    ),
    "E25": Erratum(
        "Theorem 1, proof",
        "Problem (14); a worker is added to S; a job has one schedule, on given workers",
        "Problem (10) and the set of GPUs are meant. The reduction from colouring gives each job "
        "its GPUs, the edges at its node, whereas RAR-DDLS lets it use any: the complete graph on "
        "four nodes needs four colours, but its four jobs of three of six GPUs take two slots. "
        "Jobs of one slot that may use any GPUs are bin packing, which first fit solves within a "
        "constant factor.",
        "Theorem 1 counts as not proved for RAR-DDLS.",
        "",
        ("test_theorem_1_colours_jobs_with_given_gpus",),
    ),
    "E26": Erratum(
        "7",
        "tau F in [50, 300], tau in [0.01, 0.05], F in [1000, 6000]",
        "The product of the ranges is [10, 300].",
        "tau is drawn first, then F among the numbers that keep the product in its range.",
        "",
        ("test_the_paper_presets_keep_to_section_7",),
    ),
    "E27": Erratum(
        "7",
        "contention and overhead add at most 15%",
        "The paper does not say for which schedules, nor whether it is a property of the data or "
        "of the runs. In the example of the introduction, 675 s instead of 295 s, contention costs "
        "56%. Where a job can lose half of its time, the schedules of SJF-BCO still lose less than "
        "15%, because it avoids contention.",
        "Gradients and latency are such that a job with 8 rings on a server and on as many servers "
        "loses at most 15% of its time; what a schedule loses is reported. The figures are drawn "
        "with larger shares as well.",
        "extra_share and reference_crowd of the generator",
        ("test_the_extra_share_is_met_in_the_reference_state", "test_measures"),
    ),
    "E28": Erratum(
        "7, baselines",
        "FF, LS, RAND",
        "Neither the order of the jobs nor the limit theta_u is given for them. The order decides "
        "the comparison of completion times: smallest first, LS is Algorithm 1 with kappa = n_g up "
        "to ties (E19).",
        "List order; the search of Algorithm 1 for FF and LS, theta_u = T for RAND. The figures "
        "show both orders. The limit that a policy returns is the largest estimated load, as in "
        "Lemma 2: with the search of E17 theta_u may stay at its first midpoint.",
        "order=sjf",
        (
            "test_smallest_first_ls_is_sjf_bco_without_lbsgf",
            "test_first_fit_goes_from_server_to_server",
            "test_list_scheduling_looks_at_loads_alone",
            "test_random_placement_draws_servers_and_then_gpus",
        ),
    ),
    "E29": Erratum(
        "4.1, 2)",
        "contention on a server",
        "Two rings that share a server but no link still contend: what they share is its uplink.",
        "Kept.",
        "",
        ("test_w1_an_interior_start_ends_first",),
    ),
    "E30": Erratum(
        "Algorithm 1, line 2",
        "U = 0 before both loops",
        "Every run but the first would begin with the loads of all earlier runs.",
        "U = 0 in every run.",
        "",
        ("test_it_is_algorithm_1",),
    ),
}

PAPER = Paper(
    citation=CITATION,
    doi="10.1145/3492866.3549716",
    problem=PROBLEM,
    schedule=SCHEDULE,
    symbols=SYMBOLS,
    rules=RULES,
    equations=EQUATIONS,
    algorithms=ALGORITHMS,
    guarantees=GUARANTEES,
    errata=ERRATA,
)
