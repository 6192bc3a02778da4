"""Readers of traces: what they read, and how they refuse."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError, UsageError
from schedgap.instances.generate import presets
from schedgap.instances.traces import COLUMNS, FORMATS, read_jobs, read_machines, read_rates

DATA = Path(__file__).parents[1] / "data" / "traces"


def test_philly_is_sorted_by_arrival_and_loses_its_exact_duplicates():
    trace = read_jobs(DATA / "philly.csv")
    assert trace.format == "philly" and trace.left_out == {"exact duplicates": 1}
    assert [job.id for job in trace.jobs] == ["line3", "line5", "line6", "line7", "line2", "line8"]
    first, last = trace.jobs[0], trace.jobs[-1]
    assert last.arrival - first.arrival == 7200 and first.gpus == 8 and first.duration == 7200
    assert [job.group for job in trace.jobs][1:4] == ["b,2", "b2", "1e10"]


def test_tiresias_is_in_seconds_and_muri_in_milliseconds():
    jobs = read_jobs(DATA / "tiresias.csv").jobs
    assert [(j.id, j.arrival, j.duration, j.steps) for j in jobs] == [
        ("0", 0, 180, 600), ("2", 12, 100, 50), ("1", 30, 240, 120),
    ]  # fmt: skip
    muri = read_jobs(DATA / "muri.csv").jobs
    assert (muri[1].arrival, muri[1].duration, muri[1].step_time) == (15, 107, 0.214)
    assert muri[1].stage_times == (0.082, 0.075, 0.066) and muri[1].batch_size == 16
    assert muri[0].duration == pytest.approx(muri[0].steps * muri[0].step_time)


@pytest.mark.parametrize(
    ("columns", "weights", "durations"),
    [(7, [None] * 3, [None] * 3), (10, [1, 3, 1, 1], [None] * 4), (12, [1, 3], [200, 300])],
)
def test_gavel_has_three_layouts(columns, weights, durations):
    jobs = read_jobs(DATA / f"gavel{columns}.trace").jobs
    assert [job.weight for job in jobs] == weights
    assert [job.duration for job in jobs] == durations
    assert (jobs[0].model, jobs[0].steps, jobs[0].batch_size) == ("TypeB", 90, None)
    second = jobs[1]
    assert (second.arrival, second.gpus, second.steps, second.batch_size) == (60, 2, 400, 8)


def test_openb_pods_keep_shares_kinds_and_those_that_never_ran():
    jobs = read_jobs(DATA / "openb_pods.csv").jobs
    assert [job.duration for job in jobs] == [200, 400, None, 15]
    assert jobs[1].gpu_share == 0.46 and jobs[1].gpu_kinds == ("V100", "T4")
    assert jobs[0].cpus == 12 and jobs[0].memory_gb == pytest.approx(17.179869184)


@pytest.mark.parametrize(
    ("name", "format", "gpus"),
    [
        ("openb_nodes.csv", "openb-nodes", {"P100": 2, "V100M32": 6, "CPU": 0}),
        ("pai_machines.csv", "pai-machines", {"CPU": 0, "T4": 2, "V100": 8}),
        ("tiresias_cluster.csv", "tiresias-cluster", {"GPU": 24}),
    ],
)
def test_machines_have_their_kind_and_number_of_gpus(name, format, gpus):
    found = read_machines(DATA / name)
    assert found.format == format
    count = dict.fromkeys(gpus, 0)
    for machine in found.machines:
        count[machine.kind] += machine.gpus
    assert count == gpus
    assert len({machine.id for machine in found.machines}) == len(found.machines)


def test_rates_are_those_alone_by_kind_and_placement():
    rates = read_rates(DATA / "throughputs.json")
    assert rates.kinds == ("K80", "V100")
    key = ("TypeA (batch size 8)", 2)
    assert rates.steps_per_second["K80", True][key] == 3.2
    assert rates.steps_per_second["K80", False][key] == 2.5
    assert rates.steps_per_second["K80", True]["TypeC", 2] == 0


def test_byte_order_mark_line_ends_quotes_and_blank_lines_do_not_matter(tmp_path):
    plain = (DATA / "philly.csv").read_text()
    file = tmp_path / "philly.csv"
    file.write_bytes(b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode() + b"\r\n , \r\n\r\n")
    assert read_jobs(file).jobs == read_jobs(DATA / "philly.csv").jobs
    header, _, rest = plain.partition("\n")
    file.write_text(
        ", ".join(f'"{name}"' for name in header.split(",")).replace(" ", "") + "\n" + rest
    )
    assert read_jobs(file).jobs == read_jobs(DATA / "philly.csv").jobs


def test_the_page_names_every_format_column_and_setting():
    page = (DATA.parents[2] / "docs" / "traces.md").read_text()
    assert all(f"`{name}`" in page for name in FORMATS)
    assert all(", ".join(columns) in page for columns in COLUMNS.values())
    paper = {option.name for option in presets("hare")["paper"].options}
    named = {"jobs", "first", "take", "max_rounds", "steps_per_round", "placement", "slot_seconds"}
    assert named <= paper and all(name in page for name in named)


BAD_LINES = [
    ("philly.csv", "600.0,1", "x,1", "line 2 column duration: not a number, got 'x'"),
    ("philly.csv", "600.0,1", ",1", "line 2 column duration: empty"),
    ("philly.csv", "600.0,1", "nan,1", "line 2 column duration: not a number, got 'nan'"),
    ("philly.csv", "600.0,1", "1_0,1", "line 2 column duration: not a number, got '1_0'"),
    ("philly.csv", "600.0,1", "-1,1", "line 2 column duration: must be >= 0, got '-1'"),
    ("philly.csv", "600.0,1", "1e999,1", "line 2 column duration: too large: '1e999'"),
    ("philly.csv", "7200.0,8", "7200.0,8.5", "line 3 column num_gpus: not a whole number, got"),
    ("philly.csv", "7200.0,8", "7200.0,1e9", "line 3 column num_gpus: too large: '1e9'"),
    ("philly.csv", "09 06:30", "31 26:30", "line 5 column timestamp: not a date and time, got"),
    ("philly.csv", "b2", "", "line 6 column cluster: empty"),
    ("philly.csv", "a1", "a1,7", "line 2: 6 columns, need 5"),
    ("philly.csv", '"b,2"', '"b,2', "line 8: not CSV: unexpected end of data"),
    ("philly.csv", "gpu_time", "duration", "of no known format: jobs can come from philly,"),
    ("philly.csv", "timestamp,duration", "timestamp,Duration", "of no known format: jobs can"),
    ("tiresias.csv", "1,4,30", "0,4,30", "line 3 column job_id: duplicate id '0'"),
    ("tiresias.csv", ",600,", ",0,", "line 2 column iterations: must be >= 1, got '0'"),
    ("tiresias.csv", ",interval", ",duration", "line 1: column 'duration' twice"),
    ("gavel10.trace", "\t90\t1\t", "\t9\t0\t1\t", "line 2: 11 columns, need 10"),
    ("gavel10.trace", "\t400\t", "\tmany\t", "line 1 column total_steps: not a number, got"),
    ("openb_pods.csv", "pod-2", "pod-1", "line 3 column name: duplicate id 'pod-1'"),
    ("openb_pods.csv", ",0,300,100", ",0,30,100", "line 2 column deletion_time: before schedul"),
]  # fmt: skip


def _spoil(tmp_path, name, old, new):
    text = (DATA / name).read_text()
    assert old in text
    file = tmp_path / name
    file.write_text(text.replace(old, new, 1))
    return file


@pytest.mark.parametrize(("name", "old", "new", "message"), BAD_LINES)
def test_a_bad_line_is_named_by_file_line_and_column(tmp_path, name, old, new, message):
    file = _spoil(tmp_path, name, old, new)
    with pytest.raises(InputError) as caught:
        read_jobs(file)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("openb_nodes.csv", "node-2", "node-1", "line 3 column sn: duplicate id 'node-1'"),
        ("openb_nodes.csv", ",2,P100", ",2,", "line 2 column model: empty"),
        ("pai_machines.csv", "96,512,0", "96,512", "of no known format: machines can come from"),
        ("pai_machines.csv", "T4,96", "T4,many", "line 2 column cap_cpu: not a number"),
        ("tiresias_cluster.csv", "2,3,4", "0,3,4", "line 2 column num_switch: must be >= 1"),
        ("tiresias_cluster.csv", "2,3,4", "2000,3000,4", "line 2: more than 100000 nodes"),
    ],
)
def test_bad_machines_are_named(tmp_path, name, old, new, message):
    file = _spoil(tmp_path, name, old, new)
    with pytest.raises(InputError) as caught:
        read_machines(file)
    assert str(caught.value).startswith(f"{file}: {message}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "2.0, ",
            "-2.0, ",
            "k80[\"('TypeA (batch size 8)', 1)\"].null: must be 0 or 1e-09 to 1e+12",
        ),
        ("2.0, ", '"2", ', "k80[\"('TypeA (batch size 8)', 1)\"].null: need a number"),
        ("2.0, ", "true, ", "k80[\"('TypeA (batch size 8)', 1)\"].null: need a number"),
        ("2.0, ", "NaN, ", "k80[\"('TypeA (batch size 8)', 1)\"].null: not a finite number"),
        (
            "('TypeB', 1)\": {",
            "('TypeB', 0)\": {",
            "k80[\"('TypeB', 0)\"]: need ('job type', GPUs)",
        ),
        ('"k80": {', '"k80": 3, "x": {', "k80: need an object of job types"),
        ("{\n", "{\n,", "line 2 column 1: not JSON"),
    ],
)
def test_bad_rates_are_named(tmp_path, old, new, message):
    file = _spoil(tmp_path, "throughputs.json", old, new)
    with pytest.raises(InputError) as caught:
        read_rates(file)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_a_file_of_another_role_or_of_none_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"of format openb-nodes: jobs can come from philly, tire"):
        read_jobs(DATA / "openb_nodes.csv")
    with pytest.raises(InputError, match=r"of format philly: rates can come from gavel-through"):
        read_rates(DATA / "philly.csv")
    with pytest.raises(UsageError, match="no format 'gavel' for machines: choose one of openb-no"):
        read_machines(DATA / "openb_nodes.csv", "gavel")
    with pytest.raises(InputError, match="line 1: no column 'job_id'"):
        read_jobs(DATA / "philly.csv", "tiresias")
    with pytest.raises(InputError, match="cannot be read: no such file"):
        read_jobs(tmp_path / "none.csv")
    for content, message in [
        (b"", "of no known format"),
        (b"\xff\xfe\x00", r"not UTF-8 text \(byte 0\)"),
        (b"timestamp,duration,num_gpus,gpu_time,cluster\n", "no lines of data"),
        (b"\x00" * 100, "of no known format"),
        (b'"' + b"x" * 200_000, "of no known format"),
    ]:
        file = tmp_path / "odd"
        file.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_jobs(file)


def test_a_forced_format_reads_what_the_columns_do_not_tell(tmp_path):
    file = tmp_path / "machines"
    file.write_text("m1,V100,n/a,512,8\n")
    with pytest.raises(InputError, match="of no known format"):
        read_machines(file)
    with pytest.raises(InputError, match="line 1 column cap_cpu: not a number, got 'n/a'"):
        read_machines(file, "pai-machines")


FILES = sorted(file.name for file in DATA.iterdir())


@settings(max_examples=120, deadline=None)
@given(name=st.sampled_from(FILES), data=st.data())
def test_a_damaged_file_gives_a_trace_or_one_line(name, data, tmp_path_factory):
    raw = bytearray((DATA / name).read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    odd = [b"\xff", b'"', b",", b"\t", b"\n", b"\x00", b"-", b"9" * 400, b"nan", b"\xe2\x80\xa8"]
    match data.draw(st.sampled_from(["cut", "flip", "insert", "delete"])):
        case "cut":
            del raw[at:]
        case "flip":
            raw[at] = data.draw(st.integers(0, 255))
        case "insert":
            raw[at:at] = data.draw(st.sampled_from(odd))
        case _:
            del raw[at]
    file = tmp_path_factory.getbasetemp() / "damaged"
    file.write_bytes(raw)
    for read in (read_jobs, read_machines, read_rates):
        refusal = ""
        try:
            read(file)
        except InputError as error:
            refusal = str(error)
        assert not refusal or (refusal.startswith(f"{file}: ") and refusal.isprintable())
