import json

import pytest

from bedside.errors import BedsideError, install_extra, nearest_first, unknown_name
from bedside.stderr import say


def test_an_error_is_three_lines():
    error = unknown_name("vital", "grad_nrom", ["loss", "grad_norm"], try_='vitals=["grad_norm"]')
    assert str(error) == (
        "No vital is called 'grad_nrom'.\n  Expected: one of grad_norm, loss\n  Try: vitals=[\"grad_norm\"]"
    )


def test_the_likeliest_spelling_comes_first_in_any_case():
    assert nearest_first("grd-101", ["NUM101", "GRD101"]).startswith("GRD101")
    assert nearest_first("Overfiting", ["nonfinite-loss", "overfitting"]).startswith("overfitting")


def test_a_long_list_is_cut():
    assert nearest_first("x", [f"name_{i}" for i in range(9)], most=3) == "name_0, name_1, name_2, …"


def test_a_public_function_adds_the_users_call_unless_the_fact_knew_better():
    assert BedsideError("a", expected="b").with_call("c").try_ == "c"
    assert BedsideError("a", expected="b", try_="d").with_call("c").try_ == "d"


def test_a_stream_of_the_programs_own_that_raises_is_left_alone(monkeypatch):
    class Broken:
        tried = 0

        def write(self, text):
            self.tried += 1
            raise RuntimeError("no log server")

    monkeypatch.setattr("sys.stderr", stream := Broken())
    say("a line")
    assert stream.tried == 1


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'bedside[live]'"),
        ({"url": "https://index/bedside.whl", "archive_info": {}}, "pip install 'bedside[live]'"),
        ({"url": "file://{here}", "dir_info": {}}, "pip install '{here}[live]'"),
        ({"url": "file://{here}", "dir_info": {"editable": True}}, "pip install -e '{here}[live]'"),
        ({"url": "file://{here}/gone", "dir_info": {}}, "pip install 'bedside[live]'"),
    ],
)
def test_an_extra_is_installed_from_where_bedside_came_from(monkeypatch, tmp_path, origin, command):
    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return origin and json.dumps(origin).replace("{here}", str(tmp_path))

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    assert install_extra("live") == command.replace("{here}", str(tmp_path))
