"""`bedside zoo list | run | score`, as a user types them."""

from __future__ import annotations

import pytest

from bedside import cli
from bedside.zoo.score import ON_SHOW, PUBLISHED, read
from bedside.zoo.specimens import ZOO

QUICK = "learning-rate-1e-6"


@pytest.fixture
def typed(capfd, tmp_path, monkeypatch):
    """`typed("list")` -> exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = cli.run(["zoo", *words])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_list_has_every_specimen(typed):
    code, result, _ = typed("list")
    assert code == 0
    assert all(each.name in result for each in ZOO)


def test_a_run_is_shown_while_it_trains_and_diagnosed_and_can_be_kept(typed, tmp_path):
    _, result, _ = typed("run", QUICK, "--severity", "severe", "-o", "kept")
    assert "undersized-update" in result
    assert (tmp_path / "kept" / "rank0.sqlite").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "learning-rate-tne"), "learning-rate-ten"),
        (("run", QUICK, "--severity", "grave"), "severe"),
        (("score", "--seeds", "one"), "--seeds 'one'"),
        (("score", "--only", "nothing-like-it"), "nothing-like-it"),
        (("guide", "-o", "guide.docx"), "guide.pdf"),
    ],
)
def test_what_is_misspelt_is_refused_with_what_to_type(typed, words, said, tmp_path):
    code, printed, error = typed(*words)
    assert (code, printed) == (2, "")
    assert said in error
    assert len(error.strip().splitlines()) == 3
    assert not list(tmp_path.iterdir())


def test_the_score_is_written_and_a_worse_one_is_told(typed, tmp_path):
    assert typed("score", "--only", QUICK, "--seeds", str(ON_SHOW))[0] == 0
    table = tmp_path / "benchmarks" / "zoo.csv"
    rows = read(table)
    assert [row.severity for row in rows] == ["healthy", "mild", "marked", "severe"]
    assert (tmp_path / ".cache" / "zoo" / "gallery" / f"{QUICK}.json").exists()
    assert typed("score", "--only", QUICK, "--seeds", str(ON_SHOW), "--check")[0] == 0
    table.write_text(table.read_text().replace(f"healthy,{ON_SHOW}", "healthy,999"))
    code, _, error = typed("score", "--only", QUICK, "--seeds", str(ON_SHOW), "--check")
    assert code == 1
    assert "not in the table" in error


def test_the_help_names_the_published_seeds(typed):
    code, out, _ = typed("score", "--help")
    assert code == 0
    assert ",".join(map(str, PUBLISHED)) in "".join(out.split())
