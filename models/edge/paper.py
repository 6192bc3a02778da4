"""The edge paper: where its equations, algorithms, guarantees and errata stand in this source.

A table rather than code.
"""

from schedgap.models.method import Lazy
from schedgap.models.paper import Algorithm, Equation, Erratum, Guarantee, Paper, Symbol

CITATION = (
    "J. She, N. Wang, R. Zhou, C. Tian. Online Scheduling of Machine Learning Jobs in Edge-Cloud "
    "Networks. International Conference on Networking and Network Applications (NaNA), 2021."
)

PROBLEM = (
    "Small edge servers and a remote cloud hold workers and parameter servers (PSs) of several "
    "types. A training job runs a given number of epochs over its data with synchronous gradient "
    "descent, on workers of one type and one PS of one type, both fixed by the job. The decisions "
    "for each job are its start slot, its workers on each server and the server of its PS; they "
    "stay fixed until the job ends. Twice as many workers take half as long; if all workers are on "
    "the PS's server, no gradients are sent and every mini-batch takes less time. A job can use a "
    "server only after its data have arrived there: soon on an edge server, much later in the "
    "cloud. The sum of completion - arrival is minimised. Slot t is the time from t - 1 to t; a "
    "job that arrives in slot a may run in slot a on servers with transfer delay 0. The completion "
    "is the LAST slot of the run, so the objective is the total flow time less one slot for each "
    "job and may be 0. With `batch_round` = i the objective is the number of jobs, among those "
    "that arrived before slot tau = 2^(i-1), that run within the slots tau + 1 to 2 tau on an "
    "empty network; it is maximised. The online algorithm solves this problem in every round. A "
    "schedule may use more slots or workers than needed."
)
SCHEDULE = (
    '`{"jobs": {"j1": {"start": 3, "completion": 4, "workers": {"edge-1": 2}, "ps_server": '
    '"edge-1", "colocated": true}}}`: first and last slot, workers by server (servers with none '
    "are left out), the server of the PS, and whether all workers are there (optional). All jobs "
    "are present; in a batch any subset. A schedule declares the rules that it relaxes: "
    '`"relaxed": ["2c-2d"]` allows interruptions, `"2i"` ignores transfer delays. '
    'An interrupted job has `segments`, a list of `{"start", "end", "workers", "ps_server", '
    '"overhead"}`; the first `overhead` slots of a segment make no progress.'
)

SYMBOLS = (
    Symbol("T", "horizon", "integer >= 1", "last slot in which a job may run"),
    Symbol("", "slot_seconds", "> 0", "length of a slot; an hour in the paper"),
    Symbol("U, u", "worker_types", "ids", "types of workers (GPUs)"),
    Symbol("V, v", "ps_types", "ids", "types of PSs (CPUs)"),
    Symbol("S, s", "servers", "list", "edge servers and clouds; their order breaks ties"),
    Symbol("", "servers[].kind", "word", "`edge` or `cloud`; no rule depends on it"),
    Symbol("W_su", "servers[].workers", "integer >= 0", "by worker type; absent = 0"),
    Symbol("P_sv", "servers[].parameter_servers", "integer >= 0", "by PS type; absent = 0"),
    Symbol("J, j", "jobs", "list", "jobs; their order breaks ties"),
    Symbol("a_j", "jobs[].arrival", "integer in 1..T", "slot of arrival (E30)"),
    Symbol("u_j, v_j", "jobs[].worker_type, .ps_type", "ids", "the types that the job needs"),
    Symbol(
        "E_j, D_j, M_j", "jobs[].epochs, .chunks, .minibatches_per_chunk", "integer >= 1",
        "their product is the number of mini-batches; at most D_j workers",
    ),
    Symbol("n_j", "jobs[].compute_seconds", "> 0", "time of a worker for a mini-batch"),
    Symbol("H_j", "jobs[].update_seconds", ">= 0", "time of the PS for a mini-batch"),
    Symbol("k_j", "jobs[].gradient_megabytes", ">= 0", "gradients or parameters, 10^6 bytes"),
    Symbol("B_j", "jobs[].bandwidth_mbps", "> 0", "10^6 bit/s"),
    Symbol("Delta_js", "jobs[].transfer_delay", "integer >= 0", "slots, by server (E4)"),
    Symbol("F_1, F_2", "price_caps.worker, .parameter_server", "> 0", "in (7) and (8); default 1"),
    Symbol("i", "batch_round", "integer >= 1", "selects the batch problem (3) of this round"),
    Symbol("h_j, c_j", "start, completion", "integer in 1..T", "first and last slot of a run"),
    Symbol("y_js(t)", "workers", "integer >= 1", "by server, constant while the job runs"),
    Symbol("z_js(t)", "ps_server", "id", "the server of the PS"),
    Symbol("xi_j", "colocated", "true or false", "all workers are on the PS's server (E2)"),
    Symbol("p_j", "", "derived", "mini-batches per slot and worker, (1); it depends on xi_j"),
    Symbol("tau_i", "", "derived", "2^(i-1); round i has the slots tau_i + 1..2 tau_i"),
    Symbol("lambda, mu", "", "derived", "prices of workers and PSs, (7) and (8)"),
    Symbol("theta_1, theta_2", "", "derived", "scales of the prices; `PriceScale` has theta - 1"),
    Symbol("f_su, g_sv", "", "derived", "workers and PSs in use in a slot of a round"),
    Symbol("eta_j", "", "derived", "utility of a job, (6): 1 - its least cost, at least 0"),
    Symbol("x_j", "", "0 or 1", "the job is accepted in the round, (3); `x` in milp-literal"),
    Symbol("J_i, J_i^s", "", "derived", "batch of round i, and its accepted jobs"),
    Symbol("L_j, l", "", "derived", "the schedules of a job, and one of them; columns of (4)"),
    Symbol("chi_j^l", "", "0 or 1", "schedule l is chosen, (4)"),
    Symbol("gamma, delta", "", "derived", "workers and PSs of a schedule by server and slot, (4)"),
    Symbol("D_u", "", "integer in 1..D_j", "number of workers tried in Algorithms 2-4"),
    Symbol("d_j", "", "derived", "duration with D_u workers, rounded up (E24)"),
    Symbol("F", "worker_price_cap, ps_price_cap", "> 0", "the generator's names of F_1, F_2"),
)  # fmt: skip

RULES = {
    "V1": "(2) Every job is scheduled once, in (3) any subset; no other jobs.",
    "V1b": "(3b) In a batch: arrived before tau_i, and within the slots tau_i + 1..2 tau_i.",
    "V2": "(2j), (2k), (2l) First and last slot are integers in 1..T, first <= last.",
    "V3": "(2a), (2l) Workers are integers on known servers, 1 to D_j in total.",
    "V4": "(2c), (2d) One run with constant workers; if relaxed, segments that do not overlap.",
    "V5": "(2b) One PS, on a known server.",
    "V6": "(2i) No server is used before a_j + Delta_js; if relaxed, not before a_j.",
    "V7": "(2f) `colocated` is true if and only if all workers are on the PS's server.",
    "V8": "(2e) with (1): workers times slots suffice for all mini-batches.",
    "V9": "(2g) Capacity for workers of each type on each server in every slot.",
    "V10": "(2h) Capacity for PSs of each type on each server in every slot.",
}

_MODES = "by modes: the number of workers determines the duration"
_COLUMNS = "by index set: there are no columns for what it forbids"
_DOMAIN = "the domain of the variables"

EQUATIONS = {
    "1": Equation(
        "checked",
        ("batch_seconds",),
        "1/p_j, in instances/edge/compiled.py, and again in rules.py (`worker_slots`); in (2e) as "
        "E D M / p_j, elsewhere " + _MODES + " (E6)",
    ),
    "2": Equation("modelled", (), "the objective (E5)"),
    "2a": Equation("modelled", ("eq_2a", "eq_2a_some"), "elsewhere no mode has more workers"),
    "2b": Equation("modelled", ("eq_2b", "eq_2b_mode"), "one PS exactly while the job runs (E3)"),
    "2c": Equation(
        "replaced",
        ("eq_2c", "eq_2c_all", "eq_2c_last", "eq_2c_most", "eq_2c_run"),
        "for the slots before the last one (E1); elsewhere " + _COLUMNS,
    ),
    "2d": Equation("replaced", ("eq_2d",), "as (2c) (E1); elsewhere " + _COLUMNS),
    "2e": Equation(
        "modelled", ("eq_2e", "eq_2e_mode"), "in integer worker-slots: linear and exact (E6)"
    ),
    "2f": Equation("replaced", ("eq_2f",), "xi = 1 only if the PS's server has all workers (E2)"),
    "2g": Equation("modelled", ("eq_2g",)),
    "2h": Equation("modelled", ("eq_2h",)),
    "2i": Equation("modelled", ("eq_2i", "eq_2i_ps"), "elsewhere " + _COLUMNS),
    "2j": Equation("modelled", ("eq_2j",), "elsewhere a column fixes its start"),
    "2k": Equation("modelled", ("eq_2k",), "elsewhere a column fixes its end"),
    "2l": Equation("implied", (), _DOMAIN),
    "3": Equation("modelled", (), "the objective (E8)"),
    "3a": Equation("implied", (), _DOMAIN),
    "3b": Equation("implied", (), _COLUMNS + ", and only accepted jobs run (E8)"),
    "4": Equation(
        "modelled", (), "a column for each run, in programs/columns.py; objective (3), or (2) (E9)"
    ),
    "4a": Equation("modelled", ("eq_4a",), "of the chosen schedules (E9)"),
    "4b": Equation("modelled", ("eq_4b",), "of the chosen schedules (E9)"),
    "4c": Equation("modelled", ("eq_4c",), "with = 1 for problem (2)"),
    "4d": Equation("implied", (), _DOMAIN),
    "5": Equation("checked", ("bound",), "the dual objective of any prices, evaluated exactly"),
    "5a": Equation("checked", ("bound",), "with the exact least cost of each job"),
    "5b": Equation("checked", ("rounded",), "negative prices are set to 0"),
    "6": Equation("checked", ("bound",), "eta_j, from the least cost of the job"),
    "7": Equation("checked", ("unit_price",), "with the utilization as an exponent (E10)"),
    "8": Equation("checked", ("unit_price",), "with the utilization as an exponent (E10)"),
    "9": Equation("checked", ("cheapest",), "exact: workers and PS are chosen independently"),
    "9a": Equation("checked", ("fill_costs",), "workers free throughout the run"),
    "9b": Equation("checked", ("ps_costs",), "a PS free throughout the run"),
    "9c": Equation("checked", ("cheapest",), "modes, starts and servers that are ready"),
}

ALGORITHMS = {
    "1": Algorithm("Online scheduling framework, A_online", 13, "a_online"),
    "2": Algorithm("Maximum job scheduling, A_maxsche", 21, "a_maxsche"),
    "3": Algorithm("Cost under centralized placement, COST_C", 10, "cost_c"),
    "4": Algorithm("Cost under distributed placement, COST_D", 38, "cost_d"),
}

GUARANTEES = {
    "none": Guarantee(
        claim="none: the paper reports an overall performance ratio close to 1",
        source="Fig. 14",
        methods=(
            "a-online",
            "a-online-printed",
            "a-online-model",
            "a-online-earliest",
            "a-online-any",
            "a-online-no-price",
            "a-maxsche",
        ),
        assumptions=(
            "the weight of a job is at least its volume: workers and PSs times slots",
            "every server has at least log2 theta workers and PSs",
        ),
        ratio=False,
        evaluate=Lazy("schedgap.models.edge.algorithms.guarantees:no_guarantee"),
        verdict=(
            "nothing is proved, and the argument that proves a ratio for such prices on elastic "
            "jobs does not apply: the first assumption fails for every job (E12)"
        ),
        tests=("test_a_job_weighs_less_than_it_takes", "test_one_worker_closes_a_server"),
    ),
    "exact_batches": Guarantee(
        claim="sum c_j <= 4 times that of any schedule",
        source="ours: rounds of doubling length, each with the maximum number of jobs",
        methods=("a-online-exact-batch",),
        assumptions=(
            "least delay + least duration of every job >= 2",
            "T >= 4 times the last slot of the reference schedule",
            "every batch is solved to proved optimality",
        ),
        evaluate=Lazy("schedgap.models.edge.algorithms.guarantees:exact_batches"),
        verdict="holds for sum c_j; no constant is possible for sum c_j - a_j without preemption",
        tests=(
            "test_exact_batches_keep_the_sum_of_completions_within_4",
            "test_what_g2_asks_for",
            "test_no_constant_holds_for_the_flow",
        ),
    ),
}

_EDITORIAL = "A slip of the text only; no schedule depends on it."

ERRATA = {
    "E1": Erratum(
        "(2c), (2d)",
        "y(t) = y(t + 1) for t in [h_j, c_j]",
        "At t = c_j it demands the same workers in slot c_j + 1 and so in all later slots, while "
        "by (2k) the job has none there.",
        "For t in [h_j, c_j - 1].",
        "",
        ("test_a_job_holds_nothing_after_its_last_slot",),
    ),
    "E2": Erratum(
        "(2f)",
        "xi = 1 when all is on one server",
        "No row forces xi = 0 otherwise, so every optimum would claim the faster rate.",
        "xi = 1 if and only if all workers are on the server of the PS.",
        "",
        ("test_whether_a_job_is_together_is_read_off_its_servers",),
    ),
    "E3": Erratum(
        "(2b)",
        "one PS in the slots with workers",
        "A PS in other slots is not forbidden: it would use capacity (2h) without need.",
        "A PS in the slots of the run and in no other.",
        "",
        ("test_a_job_holds_nothing_after_its_last_slot",),
    ),
    "E4": Erratum(
        "(2i)",
        "the delay of one data chunk",
        "A server may receive several chunks, which take longer.",
        "As printed: one delay for each job and server.",
        "",
        ("test_the_delay_counts_once_for_all_chunks",),
    ),
    "E5": Erratum(
        "(2), (2j), (2k)",
        "c_j is the last slot with workers",
        "A job that runs only in its slot of arrival contributes 0: the objective is the flow time "
        "less one slot for each job, and a ratio may divide by 0.",
        "Kept as the objective; `flow_time` is reported beside it.",
        "",
        ("test_the_value_leaves_a_slot_of_every_job_out",),
    ),
    "E6": Erratum(
        "(2e)",
        "p_j as a number",
        "It depends on xi_j, so (2e) is a product of variables. E D M / p_j, however, is linear in "
        "xi_j, and since workers times slots is an integer, it may be rounded up.",
        "Integer worker-slots for each xi; a millionth of a worker-slot may be missing.",
        "",
        (
            "test_v8_counts_a_millionth_of_a_worker_slot_as_done",
            "test_programs_agree_with_enumeration",
        ),
    ),
    "E7": Erratum(
        "(2), T",
        "every job completes by T",
        "It is not said what happens to jobs that cannot.",
        "The instance is infeasible; if a single job shows it, it is named.",
        "",
        ("test_a_job_that_never_fits_is_named", "test_a_job_that_is_too_long_leaves_no_schedule"),
    ),
    "E8": Erratum(
        "(3b)",
        "y > 0 and z > 0 if and only if x > 0, in all slots of the interval; (2a)-(2l)",
        "An accepted job would have to run in all slots of the round, and jobs that are not "
        "accepted would have to be completed as well.",
        "An accepted job runs in consecutive slots within the round; the others do not run.",
        "",
        ("test_a_batch_schedule_may_leave_jobs_out",),
    ),
    "E9": Erratum(
        "(4a), (4b)",
        "sums of gamma and delta over all schedules",
        "Schedules that are not chosen would use capacity, too.",
        "Multiplied by chi.",
        "",
        ("test_programs_agree_with_enumeration",),
    ),
    "E10": Erratum(
        "(7), (8)",
        "theta times f / W, minus 1",
        "The price of an idle server would be -1. The exponent seems to be lost: the sister paper "
        "on elastic jobs has it.",
        "theta to the power of f / W, minus 1.",
        "",
        ("test_what_is_idle_costs_nothing",),
    ),
    "E11": Erratum(
        "(7), (8)",
        "t in [tau_i]",
        "These slots are past when round i is planned.",
        "The slots tau_i + 1..tau_{i+1}.",
        "",
        ("test_rounds_do_not_meet_and_nobody_is_lost",),
    ),
    "E12": Erratum(
        "(5a), Fig. 5",
        "weight 1; F is the upper bound of a price",
        "A price per unit and slot is compared with the weight of a job, which uses many units: "
        "for every F >= 1e-6 the first worker on a server closes it for the rest of the round, "
        "unless the server has more than log2 theta workers, so that its price stays below 1. The "
        "text says both that the value grows with F and that it falls.",
        "F as given in the instance; Figure 5 is drawn from 1e-12 to 1, and from 1 to 1e6.",
        "worker_price_cap and ps_price_cap of the generator",
        (
            "test_a_lower_price_cap_lets_more_jobs_in",
            "test_one_worker_closes_a_server",
            "test_a_roomy_server_stays_open",
        ),
    ),
    "E13": Erratum(
        "IV-B, Algorithm 1",
        "tau_0 = 1, tau_i = 2^(i-1)",
        "tau_1 = tau_0, so the first interval is empty, and no job arrives before slot 1: slots 1 "
        "and 2 are never used.",
        "Kept.",
        "",
        ("test_slots_1_and_2_are_never_used",),
    ),
    "E14": Erratum(
        "Algorithm 1, line 3, and its text",
        "arrived before tau_i and not been completed",
        "A job that is running would be scheduled again.",
        "Arrived before tau_i (strictly) and not scheduled. The paper of family elastic has the "
        "same line, says `by time tau_i`, and is read so (its E9). Here both readings give the "
        "same schedules, as line 3 of Algorithms 3 and 4 asks that a_j + Delta < tau_i.",
        "",
        (
            "test_jobs_carried_over_keep_their_place",
            "test_a_job_that_arrives_at_tau_waits_for_the_next_round_in_both_readings",
        ),
    ),
    "E15": Erratum(
        "Algorithm 1",
        "while i = 1, 2, ...",
        "It does not stop, and a job that arrives at or after the last tau_i < T has no round.",
        "Rounds with tau_i < T. If jobs remain unplaced, there is no schedule and their number is "
        "reported. Generated arrivals end long before T.",
        "",
        ("test_a_late_arrival_is_left_over",),
    ),
    "E16": Erratum(
        "Algorithm 1",
        "a job runs within one interval",
        "It waits for an interval of at least its duration, and never runs if there is none.",
        "Kept.",
        "",
        ("test_a_job_longer_than_every_round_never_runs",),
    ),
    "E17": Erratum(
        "Algorithm 2, line 3, and Algorithms 3 and 4, line 2",
        "c_j is a loop variable, and computed as tau_i + d_j",
        "The loop has no effect, so ties go to the fewest workers, not to the earliest end.",
        "As computed: runs begin with the round; among equal costs the fewest workers.",
        "a-online-earliest, a-online-any",
        ("test_toy_a_takes_the_fewest_workers_and_waits", "test_toy_a_other_variants"),
    ),
    "E18": Erratum(
        "Algorithm 2, lines 6-13",
        "min_cost is set where COST_D is cheaper",
        "It is not set where COST_C is, and eta_j has no initial value.",
        "The smaller of both; eta_j = 0 initially.",
        "",
        ("test_the_cheaper_one_of_both_subroutines_is_taken",),
    ),
    "E19": Erratum(
        "Algorithm 2, lines 15-19",
        "inside the loop over c_j",
        "A job would be scheduled again for every c_j and use capacity each time.",
        "After both loops.",
        "",
        ("test_a_job_takes_its_place_once",),
    ),
    "E20": Erratum(
        "Algorithm 2, line 17",
        "according to l",
        "l is the last schedule tried, not the best.",
        "According to l*.",
        "",
        ("test_the_cheapest_schedule_is_the_first_by_its_key",),
    ),
    "E21": Erratum(
        "Algorithms 2-4",
        "c_j = tau_i + d_j",
        "It may exceed tau_{i+1}, where the next round begins.",
        "Only runs that end by tau_{i+1} and by T.",
        "",
        ("test_rounds_do_not_meet_and_nobody_is_lost",),
    ),
    "E22": Erratum(
        "Algorithms 3 and 4, line 3",
        "a_j + Delta_js < tau_i",
        "Runs begin in slot tau_i + 1, so (2i) allows data to arrive two slots later.",
        "Kept.",
        "a-online-model: a_j + Delta_js <= tau_i + 1",
        ("test_toy_b",),
    ),
    "E23": Erratum(
        "Algorithms 3 and 4, lines 3, 22, 24",
        "prices at slot tau_i",
        "The slot belongs to the previous round. Prices differ within a round, so sorting by one "
        "slot does not find the cheapest server.",
        "Sums over the slots of the run.",
        "a-online-printed: slot tau_i + 1",
        ("test_the_price_of_one_slot_is_not_that_of_the_window",),
    ),
    "E24": Erratum(
        "Algorithms 3 and 4, line 2",
        "d_j = E D M / (p_j D_u)",
        "Not an integer number of slots, and p_j depends on the placement.",
        "Rounded up; with xi = 1 in COST_C and xi = 0 in COST_D.",
        "",
        ("test_the_toy_s_modes",),
    ),
    "E25": Erratum(
        "Algorithm 4, lines 4-11",
        "a loop over i inside round i; D'_u in a minimum that contains it already",
        _EDITORIAL,
        "Another letter.",
    ),
    "E26": Erratum(
        "Algorithm 4, lines 18-33",
        "a worker moved to the PS's server saves mu",
        "The workers are on the cheapest servers already and there is one PS in any case, so a "
        "move can only cost more. The printed term subtracts the price of the PS once for every "
        "worker and reports less than the placement costs.",
        "No moves: workers on the cheapest servers, the PS on the cheapest server for PSs.",
        "a-online-printed",
        ("test_a_shift_is_credited_with_the_price_of_the_ps",),
    ),
    "E27": Erratum(
        "Algorithm 4, lines 19-31",
        "z' is empty before the first move; y is stored with z'; i_2 = i_1 is not excluded",
        "The schedule has no PS; the cost is not that of the schedule; a server moves its workers "
        "onto itself; and nothing is stored if the inner loop ends without a break, so jobs that "
        "fit are rejected.",
        "The cheapest schedule is computed exactly instead.",
        "a-online-printed, with the PS set and y' stored",
        (
            "test_a_server_is_shifted_onto_itself_and_its_placement_lost",
            "test_the_printed_algorithm_loses_a_job",
            "test_the_study_shows_which_subroutine_fails_how",
        ),
    ),
    "E28": Erratum(
        "Algorithm 4, lines 13 and 18",
        "the PS on s_1..s_{z-1}, then on s_z..s_S",
        "The order is by prices of workers, unrelated to those of PSs, and only the second part "
        "moves workers.",
        "Any ready server with a free PS. All of E23 and E26-E28 matter little in the evaluation, "
        "where a server in use is closed in any case (E12): on 12 draws of a fifth of the size, "
        "three at each setting of Figure 3, a-online and a-online-printed differ by 0.7 % or less.",
        "a-online-printed",
        ("test_the_ps_may_be_on_any_server",),
    ),
    "E29": Erratum(
        "Algorithm 4, line 2, and (2f)",
        "the rate of xi = 0",
        "All workers may end up on the server of the PS; then the job needs fewer slots.",
        "Such a run holds its servers longer than needed, which no rule forbids; COST_C has a "
        "shorter run with as many workers.",
        "",
        ("test_a_run_at_the_split_rate_may_be_on_one_server",),
    ),
    "E30": Erratum(
        "VI",
        "x_j in [1, T / 1.5]",
        "x_j says whether a job is accepted. " + _EDITORIAL,
        "a_j.",
    ),
    "E31": Erratum(
        "VI, Fig. 5 and 6",
        "total weighted completion time",
        "There are no weights in (2). " + _EDITORIAL,
        "Without weights.",
    ),
    "E32": Erratum(
        "IV-B",
        "the optimal scheduling result generated by A_maxsche",
        "A_maxsche is a heuristic. " + _EDITORIAL,
        "None; `a-online-exact-batch` computes optimal batches.",
    ),
    "E33": Erratum(
        "VI",
        "servers and cloud as in the trace; delays, types, bandwidths in ranges; arrivals up to "
        "T / 1.5",
        "Not given: the size of the cloud, T, the numbers of workers and PSs of each type on a "
        "server, and how the bandwidths of a worker and a PS determine that of a job. If T is the "
        "last slot of the program, jobs that arrive after the last tau_i < T have no round.",
        "One worker type and 2, 4 or 8 workers on an edge server, 2 to 8 PSs of each type, 64 of "
        "each type in the cloud, the smaller of both bandwidths; arrivals up to 256, as for T = "
        "384, and a horizon in which every method ends. Figures 3-5, 12 and 13 are drawn for "
        "other T, and all but Figure 5 for servers with mixed types, too.",
        "settings of the generator: arrival_horizon, server_types, cloud_workers, cloud_ps, ...",
        (
            "test_the_paper_preset_keeps_to_the_ranges_of_section_6",
            "test_mixed_servers_have_workers_and_ps_of_drawn_types",
        ),
    ),
    "E34": Erratum(
        "VI, Fig. 9-11",
        "considering preemption overhead",
        "How long an interruption takes is not given, nor whether Figure 11 counts it.",
        "One slot; Figures 9 and 10 are drawn for 16 and 64 slots, too, and Figure 11 has both "
        "kinds of Preemptive.",
        "preemptive-overhead:overhead=SLOTS",
        ("test_only_what_a_figure_is_about_changes_along_its_axis",),
    ),
    "E35": Erratum(
        "VI, Fig. 12-13",
        "average resource utilization",
        "It is not said of which resources and over which slots.",
        "Workers in use over all workers, from slot 1 to the last slot in use.",
        "",
        ("test_utilization_and_jobs_per_slot_end_with_the_last_run",),
    ),
    "E36": Erratum(
        "VI, Fig. 14",
        "the offline optimal algorithm",
        "It is not said what it is; with 100 jobs no method of ours proves an optimum.",
        "Proved optima of small instances in Figure 14, the best known schedule in Figure "
        "14-scale.",
        "",
        ("test_figure_14_judges_only_what_is_known",),
    ),
}

PAPER = Paper(
    citation=CITATION,
    doi="10.1109/NaNA53684.2021.00031",
    problem=PROBLEM,
    schedule=SCHEDULE,
    symbols=SYMBOLS,
    rules=RULES,
    equations=EQUATIONS,
    algorithms=ALGORITHMS,
    guarantees=GUARANTEES,
    errata=ERRATA,
)
