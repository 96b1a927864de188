"""Real logs, when they are beside the repository: every one is read, and two formats of one run agree."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bedside import diagnose
from bedside.logs import find_runs, load

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
RUNS = json.loads((CORPUS / "labels.json").read_text()) if CORPUS.is_dir() else {}


def open_(name, **options):
    return load(CORPUS / RUNS[name]["path"], **options)


@pytest.mark.parametrize("name", RUNS)
def test_every_real_log_becomes_a_run(name):
    run = open_(name)
    assert run.has("loss") or run.matching("val/")
    assert run.steps > 20
    for key in run.series_keys:
        series = run.series(*key)
        assert len(series)
        assert (np.diff(series.steps) > 0).all()


def test_the_tree_holds_each_run_once():
    assert len(find_runs(CORPUS / "runs")) == len(RUNS)


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("ap_conformer_pt_shampoo", ("algoperf", "tensorboard")),
        ("ap_ogbg_nadamp_overfit", ("algoperf", "tensorboard")),
        ("lf_nsllm", ("hf-trainer", "llama-factory")),
    ],
)
def test_two_formats_of_one_run_give_the_same_diagnosis(name, formats):
    runs = [open_(name, format_in=format) for format in formats]
    answers = [diagnose(run) for run in runs]
    assert answers[0].verdict == answers[1].verdict
    examined = set(answers[0].examined) & set(answers[1].examined)
    found = [[(f.code, f.severity, f.first_step) for f in a.findings if f.code in examined] for a in answers]
    assert found[0] == found[1]
    for vital in ("loss", "lr", "val/loss", "val/accuracy"):
        one, other = (run.series(vital) for run in runs)
        assert one.steps.tolist() == other.steps.tolist()
        np.testing.assert_allclose(one.values, other.values, rtol=1e-6)


def test_blank_cells_of_real_runs_are_nan_again():
    assert np.isnan(open_("ap_criteo_lawa_blowup").loss.values).sum() == 31
    assert np.isnan(open_("ap_wmt_gadam_nan").series("val/loss").values).sum() == 50
    assert np.isnan(open_("ap_criteo_shampoo_nan").loss.values).sum() == 42
    assert math.isnan(open_("ap_deepspeech_sinv6_nan").series("val/loss").last)


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if not run["expect"]])
def test_no_nan_is_invented_in_a_healthy_run(name):
    run = open_(name)
    for key in run.series_keys:
        if key[0] in ("loss", "val/loss", "eval_train/loss"):
            assert np.isfinite(run.series(*key).values).all()


def test_mlperf_tells_two_metrics_of_one_key_apart():
    run = open_("mlperf_sd_dead")
    assert set(run.series("val/fid").values) == {646.0821975894278}
    assert set(run.series("val/clip_score").values) == {0.1606282740831375}
    assert run.config["status"] == "aborted"
    assert run.finished is False


def test_the_clip_threshold_comes_from_the_configuration():
    run = open_("olmo_1b_emb10")
    assert set(run.series("clip_threshold").values) == {1.0}
    assert run.series("clip_active").values.mean() > 0.9


def test_several_evaluation_sets_have_owners():
    assert open_("hf_multi_eval_viz").owners("val/loss") == ["g0", "g1", "g2", "g3", "g4", "g5"]


def test_gradients_per_module_are_in_model_order():
    owners = open_("olmo_wb_zero_grad").owners("grad_norm")
    assert owners[0] == "transformer.wte"
    assert owners.index("transformer.blocks.2.ff_out") < owners.index("transformer.blocks.7.ff_out")
