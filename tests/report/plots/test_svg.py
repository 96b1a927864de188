import math
import re

from bedside.report.plots.svg import HEIGHT, LEFT, RIGHT, TOP, WIDTH, curve_svg


def heights(svg):
    return [float(y) for line in re.findall(r'points="([^"]*)"', svg) for y in re.findall(r",([\d.]+)", line)]


def test_the_curve_spans_the_whole_plot():
    svg = curve_svg("loss", [(0, 3.0), (50, 2.0), (100, 1.0)], first=0, last=100)
    assert heights(svg) == [TOP, (TOP + HEIGHT - 20) / 2, HEIGHT - 20]
    assert f'points="{LEFT}.0,' in svg
    assert f" {WIDTH - RIGHT}.0," in svg


def test_a_nan_is_a_gap_with_a_mark():
    svg = curve_svg("loss", [(0, 1.0), (1, 2.0), (2, math.nan), (3, 1.0), (4, 2.0)], first=0, last=4)
    assert svg.count("<polyline") == 2
    assert svg.count("v6") == 1


def test_a_single_reading_is_a_dot():
    assert curve_svg("val/loss", [(5, 1.0)], first=0, last=10).count("<circle") == 1


def test_nothing_but_nan_is_drawn_as_marks_alone():
    svg = curve_svg("loss", [(0, math.nan), (1, math.inf)], first=0, last=1)
    assert "<polyline" not in svg
    assert "NaN" in svg


def test_decades_make_the_axis_logarithmic():
    svg = curve_svg("grad_norm", [(0, 1.0), (1, 1e-2), (2, 1e-4)], first=0, last=2)
    assert "grad_norm (log)" in svg
    assert heights(svg)[1] == (TOP + HEIGHT - 20) / 2


def test_the_onset_is_marked_at_its_step():
    assert "onset 150" in curve_svg("loss", [(0, 1.0), (200, 2.0)], first=0, last=200, onset=150)
