"""Gantt chart of a `hare` schedule: one lane per GPU, one bar per task."""

from collections.abc import Mapping

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.family import Bar, Chart


def chart(instance: HareInstance, schedule: Mapping[str, object]) -> Chart:
    """Return the chart of a schedule: training as solid bars, synchronization faint behind it.

    `schedule`: schedule of a verified solution file, as JSON data.

    It has one lane per GPU, in list order; the text of a bar names job, round, task and GPU.
    """
    view = arrays(instance)
    placed = HareSchedule.from_data(instance, schedule)
    lanes = tuple(gpu.id for gpu in instance.gpus)
    kinds = [gpu.kind for gpu in instance.gpus]
    places, numbers = view.place, view.number
    bars: list[Bar] = []
    for i in range(view.tasks):
        job = instance.jobs[view.task_job[i]].id
        m, start = int(placed.gpu[i]), float(placed.start[i])
        train = float(view.train[i, view.gpu_class[m]])
        sync = float(view.sync[i, view.gpu_class[m]])
        text = f"{job} round {places[i]} task {numbers[i]} on {lanes[m]} ({kinds[m]})"
        bars.append(Bar(lanes[m], start, start + train, job, text))
        if sync > 0:
            end = start + train + sync
            bars.append(Bar(lanes[m], start + train, end, job, f"{text}: synchronizes", soft=True))
    return Chart(lanes, tuple(bars), instance.time_unit)
