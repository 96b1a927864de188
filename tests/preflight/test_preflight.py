"""What `bedside.preflight` promises: nothing is changed, whatever happens, for batches of every shape."""

from __future__ import annotations

import json

import pytest
import torch
from tests.training.models import Net, Pair, a_training, cross_entropy, everything, examples, loader, same
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import bedside
from bedside.preflight.checks import CATALOGUE

QUICK = ["PRE105", "PRE203", "PRE301", "PRE302"]


def run(training, loss_fn=cross_entropy, **options):
    held_out = DataLoader(TensorDataset(*examples(48, seed=9)), 16)
    return bedside.preflight(
        training.model, training.loader, loss_fn, training.optimizer, val_loader=held_out, **options
    )


def test_everything_is_put_back_bitwise_in_full_depth():
    training = a_training()
    training.model(training.batches[0][0]).sum().backward()
    before = everything(training)
    result = run(training, depth="full", steps=100, scheduler=training.loop.scheduler, loop=training.loop)
    assert same(everything(training), before)
    assert len(result.checked) == len(CATALOGUE)
    for module in training.model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [1, 5, 40])
def test_everything_is_put_back_when_it_is_left_by_an_exception(raised, at):
    training = a_training()
    before = everything(training)
    calls = []

    def fails(output, batch):
        calls.append(1)
        if len(calls) >= at:
            raise raised("stop")
        return cross_entropy(output, batch)

    if raised is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            run(training, fails)
    else:
        assert run(training, fails) is not None
    assert same(everything(training), before)


def test_training_afterwards_is_bitwise_as_if_nothing_had_happened():
    ends = []
    for disturbed in (False, True):
        training = a_training()
        if disturbed:
            run(training)
        ends.append(([training.step(step) for step in range(3)], everything(training)))
    assert same(*ends)


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, inputs):
        return self.layer(inputs)


class WithLoss(ByName):
    def forward(self, inputs, labels=None):
        logits = self.layer(inputs)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def batches(make):
    x, y = examples()
    return [make(x[i : i + 16], y[i : i + 16]) for i in range(0, 96, 16)]


KINDS = {
    "tuple": (ByName, lambda x, y: (x, y), nn.CrossEntropyLoss()),
    "dict": (ByName, lambda x, y: {"inputs": x, "labels": y}, lambda out, batch: F.cross_entropy(out, batch["labels"])),
    "dataclass": (ByName, Pair, lambda output, batch: F.cross_entropy(output, batch.targets)),
    "own loss": (WithLoss, lambda x, y: {"inputs": x, "labels": y}, None),
    "the model as loss": (WithLoss, lambda x, y: {"inputs": x, "labels": y}, "model"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_shape(kind):
    make_model, make_batch, loss_fn = KINDS[kind]
    torch.manual_seed(0)
    model = make_model()
    result = bedside.preflight(
        model,
        batches(make_batch),
        model if loss_fn == "model" else loss_fn,
        torch.optim.AdamW(model.parameters(), lr=1e-3),
        val_loader=batches(lambda x, y: make_batch(x + 1, y)),
    )
    assert result, str(result)
    assert {"PRE101", "PRE102", "PRE104", "PRE105", "PRE106", "PRE301"} <= {each.code for each in result.passed}


def test_a_hugging_face_model_with_its_batch_encoding():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config).train()
    ids = torch.randint(0, 50, (64, 12))
    encodings = [
        transformers.BatchEncoding({"input_ids": ids[i : i + 8], "labels": ids[i : i + 8].clone()})
        for i in range(0, 64, 8)
    ]
    result = bedside.preflight(model, encodings, None, torch.optim.AdamW(model.parameters(), lr=1e-3))
    assert result, str(result)
    assert {"PRE101", "PRE104", "PRE301", "PRE302"} <= {each.code for each in result.passed}


def test_results_print_serialise_and_have_a_truth():
    training = a_training()
    good = run(training, select=QUICK)
    assert good
    assert len(good.passed) == len(QUICK)
    bad = bedside.preflight(nn.Sequential(Net(), nn.Softmax(1)), loader(), nn.CrossEntropyLoss(), select=["PRE102"])
    assert not bad
    assert [each.code for each in bad.failed] == ["PRE102"]
    assert str(bad).splitlines()[1].startswith("FAILED       PRE102 loss-fits-output: cross_entropy takes scores")
    assert "→ Drop the softmax" in str(bad)
    answer = json.loads(json.dumps(bad.to_json(), allow_nan=False))
    assert answer["passed"] is False
    assert answer["findings"][0]["try"] == list(bad.failed[0].try_)
    assert answer["checks"][0]["status"] == "failed"
    assert "made by softmax" in bad.to_text(verbose=True)
    assert "<pre>" in bad._repr_html_()


def test_what_is_missing_is_not_examined_and_says_why():
    result = bedside.preflight(Net(), loader(), cross_entropy, select=["PRE203", "PRE302"])
    assert [each.needs for each in result.not_examined] == [("val_loader=",), ("optimizer=",)]
    assert "not examined PRE203 disjoint-splits: needs val_loader=" in str(result)


def test_it_is_a_function_also_when_its_package_was_loaded_first():
    assert callable(bedside.preflight)
    assert bedside.preflight.__doc__.startswith("Check a training before its first step")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"depth": "deep"}, "depth='deep' is not a depth."),
        ({"steps": 0}, "steps=0 is not a number of steps."),
        ({"classes": 1}, "classes=1 is not a number of classes."),
        ({"select": ["PRE999"]}, "No check is called 'PRE999'."),
        ({"optimizer": "adam"}, "str is not an optimizer."),
        ({"train_loader": iter([1])}, "The loader is a list_iterator, which can be read only once."),
        ({"model": 3}, "int is not a model."),
    ],
)
def test_wrong_options_are_three_lines(options, what):
    given = {"model": Net(), "train_loader": loader(), "loss_fn": cross_entropy} | options
    with pytest.raises(bedside.BedsideError) as error:
        bedside.preflight(**given)
    lines = str(error.value).splitlines()
    assert lines[0] == what
    assert lines[1].startswith("  Expected: ")
    assert lines[2].startswith("  Try: ")


def test_a_loader_keeps_its_place():
    x, y = examples()
    order = torch.Generator().manual_seed(3)
    loaders = [DataLoader(TensorDataset(x, y), 16, shuffle=True, generator=order)]
    expected = order.get_state()
    bedside.preflight(Net(), loaders[0], cross_entropy, val_loader=loaders[0], select=QUICK)
    assert torch.equal(order.get_state(), expected)


def test_a_check_that_breaks_says_what_was_raised_and_stops_no_other():
    def breaks_later(output, batch):
        if not output.requires_grad:
            raise ArithmeticError("only with gradients")
        return cross_entropy(output, batch)

    result = bedside.preflight(Net(), loader(), breaks_later, select=["PRE104", "PRE301"])
    assert "not examined PRE104 initial-loss: it raised ArithmeticError: only with gradients" in str(result)
    assert [each.code for each in result.passed] == ["PRE301"]


def test_a_watched_run_records_none_of_its_steps(tmp_path):
    training = a_training(0)
    with bedside.watch(training.model, training.optimizer, run_dir=tmp_path, quiet=True, budget=None) as monitor:
        training.step(0)
        run(training, select=QUICK)
        assert monitor.step == 1
        training.step(1)
    assert bedside.load(tmp_path).steps == 2
