from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.logs.printed import PROGRAMS

from bedside.logs.formats.text.line_numbers import line_numbers
from bedside.logs.formats.text.line_shapes import Shapes

FREE = r"(?<![\w@.#])(?<![a-zA-Z]\d-)(?<![a-zA-Z]\d\d-)\d[\d.,]*"  # digits that are not part of a name


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_shape_reads_other_digits_as_the_line_itself_would(program):
    rng = random.Random(program)
    for line in PROGRAMS[program][0].splitlines():
        shapes = Shapes()
        shapes.of(line)
        for _ in range(5):
            other = re.sub(FREE, lambda m: re.sub(r"\d", lambda _: rng.choice("0123456789"), m[0]), line)
            assert shapes.of(other).read(other) == line_numbers(other)


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789.,:-/%[]() |eEabx@_+#", max_size=60), st.randoms())
def test_shapes_agree_with_lines_whatever_the_line(line, rng):
    shapes = Shapes()
    shapes.of(line)
    other = re.sub(FREE, lambda m: re.sub(r"\d", lambda _: rng.choice("0123456789"), m[0]), line)
    assert shapes.of(other).read(other) == line_numbers(other)
