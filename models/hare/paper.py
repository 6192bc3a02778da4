"""The Hare paper, traced: where its equations, guarantees and errata stand in this source."""

from schedgap.models.method import Lazy
from schedgap.models.paper import Algorithm, Equation, Erratum, Guarantee, Paper, Symbol

CITATION = (
    "F. Chen, P. Li, C. Wu, S. Guo. Hare: Exploiting Inter-job and Intra-job Parallelism of "
    "Distributed Machine Learning on Heterogeneous GPUs. HPDC 2022."
)

PROBLEM = (
    "A cluster has GPUs of several kinds. A training job is a chain of rounds, a round a fixed "
    "set of tasks, one data batch each. A task occupies one GPU, without interruption, for its "
    "training time; then it synchronizes, without occupying the GPU. The next round of the job "
    "starts only after every task of the round has synchronized. Tasks of a round may run in "
    "parallel or one after another, on GPUs of any kinds, and a GPU may switch to another job "
    "after any task. All arrivals, weights and times are known. Choose a GPU and a start for every "
    "task so as to minimize the total weighted completion time of the jobs. Time is continuous, in "
    "the instance's `meta.time_unit`; there is no horizon, so every instance has a schedule."
)
SCHEDULE = (
    '`{"assignments": [{"job": "J1", "round": 1, "task": 1, "gpu": "GPU3", "start": 0.0}, ...]}`: '
    "exactly these keys, one entry for each task, rounds and tasks counted from 1, in any order. "
    "Ends, barriers and completion times are derived."
)

SYMBOLS = (
    Symbol("N", "jobs", "list", "the jobs"),
    Symbol("M", "gpus", "list", "the GPUs; their order breaks ties"),
    Symbol("", "gpu_kinds", "list", "kinds of GPUs, such as V100"),
    Symbol("a_n", "jobs[].arrival", ">= 0", "no task of the job starts earlier"),
    Symbol("w_n", "jobs[].weight", ">= 0", "weight in the objective"),
    Symbol("R_n", "jobs[].rounds", "integer >= 1", "rounds; or the length of `task_rounds`"),
    Symbol("D_r", "jobs[].tasks_per_round", "integer >= 1", "tasks of a round, or `task_rounds`"),
    Symbol(
        "T^c_im", "training_time", "> 0", "time on the GPU; an object keyed by kind or GPU id, "
        "where a GPU's own id wins",
    ),
    Symbol("T^s_im", "synchronization_time", ">= 0", "delay after training; same keys, absent = 0"),
    Symbol("x_i", "assignments[].start", "real", "start of a task"),
    Symbol("y_im", "assignments[].gpu", "id", "GPU of a task"),
    Symbol("C_n", "", "derived", "completion time: the last synchronization of the job"),
    Symbol("H_i", "", "derived", "middle completion time: x-hat plus half the longest T^c"),
    Symbol("phi_m", "", "derived", "time at which a GPU becomes free in Algorithm 1"),
    Symbol("alpha", "", "derived", "largest ratio between the times of a task on two GPUs"),
)  # fmt: skip

RULES = {
    "V0": "Every assignment has exactly the five keys, of the right types.",
    "V1": "Every job, round, task and GPU that is named exists.",
    "V2": "(5) Every task is assigned exactly once.",
    "V3": "(4) No task starts before its job arrives.",
    "V4": "(7) A round starts after every task of the previous round has trained and synchronized.",
    "V5": "(8) On each GPU, a task starts after the previous one has trained; never two at once.",
    "V6": "With `synchronization=fixed`: the tasks of a round start together on different GPUs.",
}

EQUATIONS = {
    "1": Equation("background", (), "the loss of training (E32)"),
    "2": Equation("background", (), "the gradient of one worker (E32)"),
    "3": Equation("background", (), "the averaged update (E32)"),
    "4": Equation("modelled", ("eq_4",), "a bound on the start of every task"),
    "5": Equation("modelled", ("eq_5",)),
    "6": Equation(
        "modelled", ("eq_6",), "rows for the last round only; by (7), earlier rounds end before it"
    ),
    "7": Equation(
        "modelled",
        ("eq_7", "eq_7_end", "eq_7_start"),
        "pairs of tasks, as printed, with pairwise=true; else one barrier variable per round",
    ),
    "8": Equation("modelled", ("eq_8_first", "eq_8_second"), "one row per order of a pair (E11)"),
    "9": Equation("modelled", ("eq_9",), "with z = x y, an identity for binary y (E3)"),
    "10": Equation("checked", ("lemma_report",), "Lemma 2, false as printed (E1, E2)"),
    "11": Equation("background", (), "a step of Lemma 2's proof, not evaluated (E1, E2)"),
    "12": Equation("background", (), "a step of Lemma 2's proof, not evaluated"),
    "13": Equation("background", (), "a step of Lemma 2's proof, not evaluated"),
    "14": Equation("checked", ("lemma_report",), "Lemma 3"),
    "15": Equation("background", (), "a step of Lemma 3's proof, not evaluated"),
    "16": Equation("background", (), "a step of Lemma 3's proof, not evaluated (E18)"),
    "17": Equation("background", (), "a step of Lemma 3's proof, not evaluated (E18)"),
    "18": Equation("background", (), "a step of Lemma 3's proof, not evaluated (E18)"),
    "19": Equation("background", (), "a step of Lemma 3's proof, not evaluated (E18)"),
    "20": Equation("background", (), "a step of Lemma 3's proof, not evaluated (E18)"),
    "21": Equation("background", (), "a step of Theorem 4's proof, not evaluated (E19)"),
    "22": Equation("checked", ("lemma_report",), "a step of Theorem 4's proof (E1, E20)"),
}

ALGORITHMS = {
    "1": Algorithm("Task scheduling algorithm in Hare", 18, "algorithm_1"),
}

_ASSUMPTIONS = (
    "no task synchronizes longer than it trains",
    "alpha is finite: no synchronization time that is 0 on one GPU and not on another",
    "the relaxation was solved to optimality",
    "the tasks of one job are alike",
)
GUARANTEES = {
    "theorem_4": Guarantee(
        claim="value <= alpha (2 + alpha) times the optimum",
        source="Theorem 4",
        methods=("hare", "hare-prefix"),
        assumptions=_ASSUMPTIONS,
        evaluate=Lazy("schedgap.models.hare.algorithms.guarantees:theorem_4"),
        verdict=(
            "false for the relaxation as printed (E1: ratio 9.02 against 3 on CE2); open for "
            "hare-prefix, where no counterexample is known; never assumed here"
        ),
        tests=("test_ce2_refutes_theorem_4_for_the_printed_relaxation",),
    ),
    "lemma_2": Guarantee(
        claim="the load of a GPU up to a task is at most 2 H of the task",
        source="Lemma 2, (10)",
        methods=("hare", "hare-prefix"),
        assumptions=_ASSUMPTIONS,
        ratio=False,
        evaluate=Lazy("schedgap.models.hare.algorithms.guarantees:lemma_2"),
        verdict=(
            "false (E1, E2: CE1 for the printed relaxation, CE4 for the repaired one); evaluated "
            "on every schedule of hare*, in the trace"
        ),
        tests=(
            "test_ce1_breaks_lemma_2_for_the_printed_relaxation",
            "test_ce4_breaks_lemma_2_even_with_every_prefix",
        ),
    ),
    "lemma_3": Guarantee(
        claim="a GPU idles for at most alpha H of a task before it starts the task",
        source="Lemma 3, (14)",
        methods=("hare", "hare-prefix"),
        assumptions=_ASSUMPTIONS,
        ratio=False,
        evaluate=Lazy("schedgap.models.hare.algorithms.guarantees:lemma_3"),
        verdict=("no counterexample is known; evaluated on every schedule of hare*, in the trace"),
        tests=("test_lemma_3_holds_on_random_instances",),
    ),
    "inequality_22": Guarantee(
        claim="a task starts and trains within (2 + alpha) H of the task",
        source="proof of Theorem 4, (22)",
        methods=("hare", "hare-prefix"),
        assumptions=_ASSUMPTIONS,
        ratio=False,
        evaluate=Lazy("schedgap.models.hare.algorithms.guarantees:inequality_22"),
        verdict=(
            "false for the relaxation as printed (CE1: 4/3 of the claim); holds on CE4, and no "
            "counterexample is known for hare-prefix; evaluated on every schedule of hare*, in the "
            "trace"
        ),
        tests=(
            "test_ce1_breaks_lemma_2_for_the_printed_relaxation",
            "test_ce4_breaks_lemma_2_even_with_every_prefix",
        ),
    ),
    "theorem_1": Guarantee(
        claim="the scheduling problem Hare_Sched is NP-hard",
        source="Theorem 1",
        methods=("hare", "hare-prefix"),
        assumptions=("none",),
        ratio=False,
        evaluate=Lazy("schedgap.models.hare.algorithms.guarantees:theorem_1"),
        verdict=(
            "true, and strongly so; the paper leaves out its proof (E26). One GPU, jobs of one "
            "task and arrivals are the single-machine problem 1 | r_j | sum w_j C_j, which is "
            "strongly NP-hard (Lenstra, Rinnooy Kan and Brucker 1977)"
        ),
        tests=("test_one_gpu_with_arrivals_is_the_single_machine_problem",),
    ),
}

_EDITORIAL = "A slip of the text only; nothing in a schedule depends on it."

ERRATA = {
    "E1": Erratum(
        "(9) and (11)",
        "the row (9) for the full set of tasks on a GPU",
        "Lemma 2 uses (9) for a prefix of the sequence, which the relaxation does not contain. "
        "Three unit jobs on one GPU (CE1) break Lemma 2, and CE2 breaks Theorem 4.",
        "Three relaxations: relaxed-miqcp and hare keep the printed row, relaxed-prefix and "
        "hare-prefix separate the row of every subset, relaxed-conic drops integrality.",
        "the choice of the method",
        (
            "test_ce1_breaks_lemma_2_for_the_printed_relaxation",
            "test_ce2_refutes_theorem_4_for_the_printed_relaxation",
        ),
    ),
    "E2": Erratum(
        "(11)-(13)",
        "the algorithm's assignment with the relaxation's start times",
        "The two come from different solutions; (9) holds for the relaxation's own assignment "
        "only. With all subsets and identical GPUs Lemma 2 still fails (CE4).",
        "Both lemmas are evaluated and reported on every run of hare*, never assumed.",
        "",
        ("test_ce4_breaks_lemma_2_even_with_every_prefix",),
    ),
    "E3": Erratum(
        "5.2, on the relaxation",
        "a mixed-integer quadratic program with the product of y and x",
        "It looks nonconvex. With z = x y, exact for binary y, and the row rearranged, one side is "
        "the square of a linear form and the other is linear: a convex program.",
        "The convex form, by tangent cuts where the engine accepts no quadratic rows.",
        "literal=true of relaxed-miqcp (Gurobi's nonconvex mode)",
        ("test_the_literal_product_form_has_the_same_optimum",),
    ),
    "E4": Erratum(
        "Algorithm 1, lines 4 and 10",
        "tasks sorted by H alone",
        "When the tasks of successive rounds differ, H may order a later round first; line 10 then "
        "reads values that are not set yet, and (7) is violated.",
        "An order guard raises H along the rounds of a job.",
        "order_guard=false (a schedule that breaks (7) is not returned: status unknown)",
        ("test_the_order_guard_keeps_rounds_in_order",),
    ),
    "E5": Erratum(
        "Algorithm 1, line 12",
        "the GPU that is free first",
        "It ignores the GPU's speed and the task's ready time, which costs a factor of 1.5 to "
        "2.5 on the workload of the paper's evaluation (hare-figure-12 to 19).",
        "As printed, by default.",
        "gpu_rule=finish is ours: the GPU on which the task ends first",
        ("test_a_slow_gpu_listed_first_costs_alpha",),
    ),
    "E6": Erratum(
        "Algorithm 1, line 12",
        "argmin",
        "All GPUs are free at time 0, so the tie-breaking rule matters.",
        "Ties go to the GPU that is earlier in the list.",
        "the order of `gpus` in the file",
        ("test_ties_go_to_the_gpu_listed_first",),
    ),
    "E7": Erratum(
        "Algorithm 1, line 7",
        "r = 0",
        "The rounds R_n are a set without numbering.",
        "Rounds count from 1 in files; the paper's r is `round` - 1.",
        "",
        ("test_rounds_count_from_one_in_files",),
    ),
    "E8": Erratum(
        "Algorithm 1, line 1, and Table 1",
        "x-tilde in one, x-hat with a tilde and y-hat in the other",
        _EDITORIAL,
        "Tilde marks the algorithm's values and hat the relaxation's.",
    ),
    "E9": Erratum(
        "text below (8)",
        "each task runs on at most one GPU",
        "(5) is an equality.",
        "Exactly one.",
        "",
        ("test_every_task_is_assigned_exactly_once",),
    ),
    "E10": Erratum(
        "(8)",
        "for all i, j",
        "It includes i = j, which reads 0 >= T^c.",
        "i and j differ; equal starts on one GPU are a violation.",
        "",
        ("test_equal_starts_on_one_gpu_are_a_violation",),
    ),
    "E11": Erratum(
        "(8)",
        "a condition on y and an argmin over x among the indices",
        "That is no constraint of a program.",
        "Two implications, one for each order of the pair, with one binary for the order.",
        "",
        ("test_big_m_has_both_orders_of_every_pair",),
    ),
    "E12": Erratum(
        "(6), (7) against line 16",
        "synchronization counts for completion and barrier, not for the GPU",
        "Easily overlooked; the three places agree.",
        "The GPU is free during synchronization, everywhere.",
        "",
        ("test_synchronization_does_not_block_the_gpu",),
    ),
    "E13": Erratum(
        "(7)",
        "for all r in R_n",
        "There is no round after the last one.",
        "All rounds but the last.",
        "",
        ("test_the_last_round_has_no_barrier_row",),
    ),
    "E14": Erratum(
        "5.2, H_i",
        "the largest middle over all GPUs",
        "It takes slow GPUs into account that the relaxation avoids.",
        "As printed.",
        "midpoint=assigned takes the relaxation's own GPU",
        ("test_middles_take_the_slowest_or_the_assigned_gpu",),
    ),
    "E15": Erratum("Table 1", "task i in N", _EDITORIAL, "N is the set of jobs; tasks are in D."),
    "E16": Erratum(
        "Lemma 2",
        "any task of the sequence, on GPU m",
        "It can hold only for the GPU that runs the task.",
        "Reported for that GPU.",
        "",
        ("test_ce4_breaks_lemma_2_even_with_every_prefix",),
    ),
    "E17": Erratum(
        "(14), alpha",
        "ratios of synchronization times",
        "They are undefined where a synchronization time is 0.",
        "0/0 counts as 1; x/0 is infinite, and then there is no guarantee.",
        "",
        ("test_alpha_of_zero_synchronization",),
    ),
    "E18": Erratum(
        "(16)-(20)",
        "H of two different first tasks, delta with one and with two arguments",
        _EDITORIAL,
        "The sum telescopes over the gaps, with 0 before the first task.",
    ),
    "E19": Erratum(
        "(21)",
        "machines with the earliest start time, for all m",
        "The algorithm takes the GPU that is free first; the inequality holds for that GPU only.",
        "Lemma 3 is evaluated for the GPU that runs the task.",
        "",
        ("test_lemma_3_holds_on_random_instances",),
    ),
    "E20": Erratum(
        "(22)",
        "start plus training is at most (2 + alpha) H",
        "The completion time contains the synchronization too, and (10) counts the task's own "
        "training only if it runs on m. The last step, a scaling argument, is not given.",
        "Theorem 4 is compared with measured ratios and never assumed.",
        "",
        ("test_ce2_refutes_theorem_4_for_the_printed_relaxation",),
    ),
    "E21": Erratum(
        "2.2.4",
        "switching takes about 9 times as long as training",
        "The default shares of 97-98 % in Table 3 give factors of 37-58 for one model, and 20-24 "
        "for the pair GraphSAGE and ResNet50.",
        "hare-figure-7 runs the pair in turn with the training times that Table 3 implies.",
        "row of preset fig7",
        ("test_omega_of_graphsage_and_resnet50",),
    ),
    "E22": Erratum(
        "Table 3",
        "switching times and their shares",
        "The task times that they imply differ between rows by a factor of up to three.",
        "The generator uses the row of Hare, read as a V100 (the table names no GPU).",
        "",
        ("test_paper_times_follow_tables_2_and_3",),
    ),
    "E23": Erratum(
        "Table 2",
        "25 % on four of eight rows",
        "These are the shares of the four classes; the split inside a class is not given.",
        "Uniform inside a class.",
        "",
        ("test_models_are_uniform_within_their_class",),
    ),
    "E24": Erratum(
        "abstract, 7.2 and 7.3",
        "about 2x; 47.6-75.3 %; 54.6-80.5 %",
        "Three different settings. " + _EDITORIAL,
        "Each is a claim of its figure (12, 14 and 15).",
    ),
    "E25": Erratum(
        "Table 2 and text",
        "Rec. once means recommendation, once recognition",
        _EDITORIAL,
        "The class is called Rec.",
    ),
    "E26": Erratum(
        "Theorem 1",
        "a reduction from SS13 of Garey and Johnson, details omitted",
        "SS13 minimizes weighted completion time on equal processors. " + _EDITORIAL,
        "The problem is strongly NP-hard anyway: one GPU with arrivals already is.",
    ),
    "E27": Erratum(
        "Fig. 1",
        "a table of times inside the image",
        "The numbers are not in the text.",
        "The preset toy is our reconstruction: it has schedules with every value that the paper "
        "quotes (10.5, 9 and 8.5), but its optimum is 8, so the paper's best is not optimal there.",
        "",
        ("test_the_toy_has_schedules_with_every_quoted_value",),
    ),
    "E28": Erratum(
        "5.2, step 2",
        "the solution x-hat of the relaxation",
        "It is far from unique, so the sequence depends on the solver.",
        "A canonical point: the least sum of starts among the optimal solutions.",
        "canonical=false keeps the solver's point",
        ("test_the_canonical_point_has_the_least_sum_of_starts",),
    ),
    "E29": Erratum(
        "7.1",
        "arrivals from a trace of a Google cluster",
        "No times are given.",
        "A Poisson process over arrival_span, or the arrivals of a trace file.",
        "--jobs-from FILE",
        ("test_arrivals_are_sorted_and_span_what_was_asked",),
    ),
    "E30": Erratum(
        "3",
        "starvation-free",
        "A design goal that no constraint expresses; in the offline problem every job ends. "
        + _EDITORIAL,
        "Nothing.",
    ),
    "E31": Erratum(
        "Hare_Sched_RL",
        "no upper limit on x",
        "An optimum of the relaxation may lie far beyond the horizon of every schedule; a cap "
        "changes its value, its solution and the ratio.",
        "A limit that provably never binds in the printed relaxation.",
        "horizon_cap=true takes the horizon of the schedules: a stronger bound, not the paper's",
        ("test_the_horizon_cap_changes_ce2",),
    ),
    "E32": Erratum(
        "(1)-(3)",
        "loss, gradient and update",
        "Background on training, without scheduling content. " + _EDITORIAL,
        "Not modelled.",
    ),
    "E33": Erratum(
        "7.1, SRTF",
        "it always schedules jobs that could complete earlier",
        "Whether it may preempt a job between rounds is not said; 5.1 says that existing works may "
        "not. With it, SRTF is about as good as Hare with the rule `finish`.",
        "Preemptive by default; Figure 12 is drawn with both.",
        "preempt=false",
        ("test_srtf_holds_the_gpus_of_a_job_unless_it_may_preempt",),
    ),
    "E34": Erratum(
        "5.1 and 7.1",
        "each task trains one data batch",
        "A job that runs for minutes then has thousands of rounds, and neither their number nor "
        "the durations are given.",
        "A task stands for batches_per_task mini-batches in a row, with as many exchanges of the "
        "model; the data of a job do not depend on the batch size.",
        "batches_per_task=1",
        (
            "test_paper_times_follow_tables_2_and_3",
            "test_larger_batches_mean_fewer_rounds_of_the_same_data",
        ),
    ),
}

PAPER = Paper(
    citation=CITATION,
    doi="10.1145/3502181.3531462",
    problem=PROBLEM,
    schedule=SCHEDULE,
    symbols=SYMBOLS,
    rules=RULES,
    equations=EQUATIONS,
    algorithms=ALGORITHMS,
    guarantees=GUARANTEES,
    errata=ERRATA,
)
