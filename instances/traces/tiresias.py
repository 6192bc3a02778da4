"""The job and cluster files of Tiresias, and of projects that use its format.

Source: Gu et al., NSDI 2019. Muri (Zhao et al., SIGCOMM 2022) adds the times of an iteration and of
its stages. All its times are in milliseconds. The column `iteration_time` identifies such files.
"""

from schedgap.errors import InputError
from schedgap.instances.traces.records import TraceJob, TraceMachine
from schedgap.instances.traces.table import MOST_GPUS, duplicate_id, with_header

JOB_COLUMNS = ("job_id", "num_gpu", "submit_time", "duration")
CLUSTER_COLUMNS = (
    "num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node",
)  # fmt: skip
STAGES = ("resource_time_0", "resource_time_1", "resource_time_2")


def jobs(text: str) -> tuple[list[TraceJob], dict[str, int]]:
    """Return the jobs in file order, and the number of lines left out by reason.

    A second line with the same id is left out if it is identical; otherwise it is an error.
    """
    found: dict[str, TraceJob] = {}
    seen: dict[str, dict[str, str]] = {}
    duplicates = 0
    for row in with_header(text, JOB_COLUMNS):
        name = row.text("job_id")
        if name in seen:
            if seen[name] != row.cells:
                raise duplicate_id(row, "job_id")
            duplicates += 1
            continue
        seen[name] = row.cells
        scale = 1000.0 if "iteration_time" in row.cells else 1.0
        found[name] = TraceJob(
            id=name,
            arrival=row.number("submit_time", scale=scale),
            gpus=row.whole("num_gpu", most=MOST_GPUS),
            duration=row.number("duration", scale=scale),
            model=row.text("model_name") if row.maybe("model_name") else None,
            batch_size=row.whole("batch_size", least=1) if row.maybe("batch_size") else None,
            steps=row.whole("iterations", least=1) if row.maybe("iterations") else None,
            step_time=row.number("iteration_time", scale=1000.0)
            if row.maybe("iteration_time")
            else None,
            stage_times=tuple(
                row.number(stage, scale=1000.0) for stage in STAGES if row.maybe(stage)
            ),
        )
    return list(found.values()), {"exact duplicates": duplicates}


def machines(text: str) -> list[TraceMachine]:
    """Return the nodes of all switches of a cluster file, with the kind `GPU`."""
    found: list[TraceMachine] = []
    for row in with_header(text, CLUSTER_COLUMNS):
        switches = row.whole("num_switch", least=1, most=100_000)
        nodes = row.whole("num_node_p_switch", least=1, most=100_000)
        if switches * nodes > 100_000:
            raise InputError("more than 100000 nodes", path=f"line {row.line}")
        first = 1 + (found[-1].switch or 0) if found else 0
        found += [
            TraceMachine(
                id=f"switch{first + k + 1}-node{n + 1}",
                kind="GPU",
                gpus=row.whole("num_gpu_p_node", most=10_000),
                cpus=row.number("num_cpu_p_node"),
                memory_gb=row.number("mem_p_node"),
                switch=first + k,
            )
            for k in range(switches)
            for n in range(nodes)
        ]
    return found
