"""The programs of family `ring`, and the names of what their indices stand for."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Lazy
from schedgap.models.program import Narrowed, Program, by_name

_BUILD = "schedgap.models.ring.exact.build_programs"
_PRINTED = by_name(
    {
        "job slot": "z f act eq_3_act eq_1_t eq_6_lev_act cut_first cut_last",
        "job server": "y use full eq_5_use eq_5_most eq_5_full",
        "job number": "num eq_9",
        "job server slot": "w cs eq_3_w eq_4 eq_6_c",
        "server slot level": "L eq_6_L",
        "job slot level": "lev eq_6_lev_up",
        "job": (
            "lin_makespan lin_start lin_last eq_1 eq_5_one eq_5_num eq_5_count eq_9_one cut_length"
        ),
        "server slot": "eq_2",
        "job server slot level": "eq_6_lev",
        "job job": "cut_equal_jobs",
        "server server": "cut_equal_servers",
    }
)
_POOL = by_name(
    {
        "job": "J eq_11 eq_10",
        "job schedule": "x eq_12",
    }
)


def index_names(instance: RingInstance) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return the names of jobs and servers.

    Slots count from 1; `number` is a number of servers, `level` a contention level p, `schedule`
    the number of a schedule of the pool.
    """
    return {
        "job": [(job.id,) for job in instance.jobs],
        "server": [(server.id,) for server in instance.servers],
    }


PROGRAMS: Mapping[str, Program[RingInstance, RingSchedule]] = {
    "rar-ddls": Program(
        "the paper's program RAR-DDLS, linearised slot by slot",
        "exact",
        Lazy(f"{_BUILD}:rar_ddls"),
        equations="(1)-(9)",
        indices=_PRINTED,
        literal=Lazy("schedgap.models.ring.programs.printed:literal"),
        narrow=Narrowed(Lazy(f"{_BUILD}:rar_ddls"), Lazy(f"{_BUILD}:first_schedule")),
        symmetry=("cut_equal_jobs", "cut_equal_servers"),
        also=("printed",),
    ),
    "complete-pool": Program(
        "the choice from the pool of all schedules; tiny instances only",
        "exact",
        Lazy(f"{_BUILD}:complete_pool"),
        equations="(10)-(13)",
        indices=_POOL,
    ),
}
