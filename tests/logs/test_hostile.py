"""Whatever a file holds, reading ends as a Run or as a three-line error.

`benchmarks/fuzz.py` does this with a hundred thousand files per reader; here are a few of them, and hypothesis.
"""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest
from benchmarks.fuzz import SEEDS, mutated, read_one
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bedside import diagnose
from bedside.errors import BedsideError
from bedside.logs import FORMATS, load
from bedside.logs.formats.protobuf import Malformed, fields
from bedside.logs.formats.text.line_numbers import line_numbers, tidy
from bedside.logs.formats.text.lines import read_lines
from bedside.logs.log import Log
from bedside.logs.to_run import to_run
from bedside.naming.metric_names import read_name
from bedside.report.html import diagnosis_to_html
from bedside.report.text import diagnosis_to_text

ENOUGH = 150  # mutated files per reader
quickly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def ends_well(path, **options):
    """A Run, or an error of three lines; any other exception comes through."""
    error = None
    try:
        load(path, **options)
    except BedsideError as result:
        error = result
    assert error is None or len(str(error).splitlines()) == 3


@pytest.mark.parametrize("reader", SEEDS)
def test_mutated_files_end_as_a_run_or_an_error(tmp_path, reader):
    name, make = SEEDS[reader]
    seed, rng = make(), random.Random(7)
    path = tmp_path / name
    for _ in range(ENOUGH):
        path.write_bytes(mutated(seed, rng))
        assert read_one(path, reader) in ("run", "error")


@pytest.mark.parametrize("reader", ["mlflow", "trackio"])
def test_a_database_that_claims_impossible_lengths_is_an_error(tmp_path, reader):
    name, make = SEEDS[reader]
    seed = make()
    path = tmp_path / name
    for at in range(392, len(seed), 7):  # a length of eight 0xff bytes makes SQLite give up for lack of memory
        path.write_bytes(seed[:at] + b"\xff" * 8 + seed[at:])
        assert read_one(path, reader) in ("run", "error")


@pytest.mark.parametrize("format", [each.name for each in FORMATS])
@quickly
@given(data=st.binary(max_size=600))
def test_any_bytes_may_be_read_as_any_format(tmp_path, format, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    ends_well(path, format_in=format)


@quickly
@given(data=st.text(max_size=600))
def test_any_text_may_be_recognised(tmp_path, data):
    path = tmp_path / "file.log"
    path.write_text(data, encoding="utf-8", errors="replace")
    ends_well(path)


@given(st.text(max_size=200))
def test_any_line_has_numbers_or_none(line):
    for found in line_numbers(tidy(line)):
        assert isinstance(found.value, float)


@given(st.text(max_size=400))
def test_any_name_has_a_meaning(name):
    assert read_name(name).kind


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_malformed(data):
    with suppress(Malformed):
        list(fields(data))


@given(
    st.dictionaries(
        st.text(max_size=30),
        st.lists(st.tuples(st.floats(), st.floats(), st.floats()), max_size=20),
        max_size=8,
    )
)
def test_any_columns_become_a_run(columns):
    log = Log("csv")
    for name, readings in columns.items():
        for step, value, order in readings:
            log.add(name, step, value, order)
    run = to_run(log, "x")
    for key in run.series_keys:
        assert (np.diff(run.series(*key).steps) > 0).all()


@pytest.mark.parametrize(
    "line",
    ["a" * 60_000, "1 " * 30_000, "loss " * 10_000, "," * 60_000, "1," * 30_000, "(" * 60_000, "1.1.1." * 10_000,
     "-" * 60_000, "0" * 60_000, "e1" * 30_000, "12:" * 20_000, "a/" * 30_000, " " * 60_000, "1/1" * 20_000,
     "[1][" * 9_000, "0." * 30_000, "1-1-1" * 10_000, "lr=" * 20_000, "9" * 60_000 + "%|", "a." * 30_000],
)  # fmt: skip
@pytest.mark.timeout(60)  # a pattern that explodes takes hours
def test_no_line_takes_for_ever(line):
    read_lines([line] * 3)


def test_names_from_a_file_cannot_write_html_or_colours(tmp_path):
    evil = "<script>alert(1)</script>\x1b[31m"
    path = tmp_path / "log.csv"
    rows = [f"{i},{'nan' if i > 40 else 5 / (1 + i)},{1 / (1 + i)}" for i in range(60)]
    path.write_text("\n".join([f'step,loss,"val/{evil}"', *rows]))
    answer = diagnose(load(path))
    assert "<script>alert" not in diagnosis_to_html(answer)
    assert "\x1b" not in diagnosis_to_text(answer)


def test_a_file_of_one_endless_line_is_read_in_bounded_memory(tmp_path):
    path = tmp_path / "file.log"
    path.write_bytes(b"step 1 loss 2.0\n" + b"x" * 10_000_000 + b"\nstep 2 loss 1.0\n")
    import tracemalloc

    tracemalloc.start()
    run = load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(run.loss) == 2
    assert peak < 5_000_000
