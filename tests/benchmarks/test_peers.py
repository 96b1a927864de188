"""The comparison with the peers is judged by a table of phrases: what it accepts, and what it does not."""

from __future__ import annotations

import csv

import pytest
import torch
from benchmarks.peers.comparison import page
from benchmarks.peers.environments import ROOT
from benchmarks.peers.listener import NOTE, Said, once_each
from benchmarks.peers.scenarios import BAD_BATCH_AT, SCENARIOS, build
from benchmarks.peers.scoring import FAULTS, ordered, score
from benchmarks.peers.tools import TOOLS


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("lr_high", Said("Learning rate likely too high")),
        ("lr_low", Said("Update ratio too low in 4", where=("4",))),
        ("nan", Said("TA100 NaN or Inf Detected", "Parameter '0.weight' contains NaNs", where=("0",))),
        ("dead", Said("channels", "256 of 256 channels silent for several checks", where=("2",))),
        ("head", Said("Stagnant weight norms", "1 layer had weight norms that barely changed", where=("6",))),
        ("no_zero_grad", Said("GRD107 accumulating-gradient", "nothing clears it")),
        ("bad_batch", Said("Loss spike: 214.9 (670x rolling avg 0.3)", steps=(BAD_BATCH_AT,))),
    ],
)
def test_words_that_name_the_fault_are_accepted(scenario: str, said: Said) -> None:
    assert score([said], scenario).named


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("lr_high", Said("Gradient explosion", "norm=2e5 (threshold=100)")),
        ("lr_high", Said("Learning rate may be too low")),
        ("lr_low", Said("Loss plateau", "no improvement for 100 steps")),
        ("nan", Said("Spike", "at step 39")),
        ("dead", Said("Loss plateau", "no improvement for 100 steps")),
        ("head", Said("Stagnant weight norms", where=("2",))),
        ("no_zero_grad", Said("Gradient instability detected")),
        ("bad_batch", Said("Spike", "at step 39", steps=(39,))),
    ],
)
def test_a_consequence_or_another_place_is_no_name(scenario: str, said: Said) -> None:
    assert not score([said], scenario).named


def test_a_name_that_the_healthy_run_gets_too_tells_nothing() -> None:
    low = Said("Learning rate may be too low", "by 3 %")
    judged = score([low], "lr_low", of_healthy=[Said("Learning rate may be too low", "by 0.2 %")])
    assert judged.named
    assert not judged.telling
    assert score([low], "lr_low").telling


def test_first_and_place_belong_to_the_finding_that_names_the_fault() -> None:
    wrong, right = Said("NaN in parameters", where=("0",)), Said("NaN in activations", where=("4",))
    assert score([right, wrong], "nan").place
    assert not score([wrong, right], "nan").place
    assert not score([Said("Loss plateau"), right], "nan").first


def test_notes_are_no_alarms() -> None:
    judged = score([Said("channels", severity=NOTE)], "healthy")
    assert (judged.alarm, judged.findings, judged.alarms) == (False, 1, 0)


def test_the_same_words_with_other_numbers_are_one_finding() -> None:
    said = once_each(Said(f"Spike {score:.1f}", steps=(step,)) for step, score in ((39, 6.2), (200, 1e3)))
    assert said == [Said("Spike 6.2", steps=(39, 200), times=2)]


def test_a_tool_that_does_not_rank_is_read_by_severity() -> None:
    said = [Said("a", severity="note"), Said("b"), Said("c", severity="error")]
    assert [one.title for one in ordered(said, ranked=False)] == ["c", "b", "a"]
    assert ordered(said, ranked=True) == said


def test_every_fault_has_its_phrases() -> None:
    assert {*FAULTS, "healthy"} == set(SCENARIOS)


def test_scenarios_of_one_seed_train_on_the_same_batches_but_for_the_bad_one() -> None:
    healthy, bad = build("healthy", 0), build("bad_batch", 0)
    differ = [not torch.equal(a, b) for (a, _), (b, _) in zip(healthy.batches(), bad.batches(), strict=True)]
    assert differ.index(True) == BAD_BATCH_AT
    assert sum(differ) == 1


def test_the_page_says_what_the_figures_say() -> None:
    with (ROOT / "benchmarks/results/peers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["tool"] for row in rows} <= set(TOOLS)
    assert (ROOT / "docs/comparison.md").read_text(encoding="utf-8") == page(rows)
