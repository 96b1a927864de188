"""Every shape of batch and every kind of loss gives the number one would write by hand."""

from __future__ import annotations

import collections
import dataclasses

import pytest
import torch
from tests.training.models import Pair, examples
from torch import nn
from torch.nn import functional as F

from bedside.errors import BadModel, BadOption
from bedside.training.batches import map_tensors, named_tensors, rows_in, same_batch, take_rows, to_device
from bedside.training.forward import BatchLoss

X, Y = examples(12)
Named = collections.namedtuple("Named", ["inputs", "targets"])
Odd = collections.namedtuple("Odd", ["picture", "answer"])
MODEL = nn.Linear(8, 3)
EXPECTED = F.cross_entropy(MODEL(X), Y).item()


@pytest.mark.parametrize("loss_fn", [nn.CrossEntropyLoss(), F.cross_entropy, lambda out, y: F.cross_entropy(out, y)])
@pytest.mark.parametrize(
    "batch",
    [(X, Y), [X, Y], (X, Y, torch.ones(12)), {"x": X, "labels": Y}, Pair(X, Y), Named(X, Y), Odd(X, Y)],
    ids=lambda batch: type(batch).__name__ + str(len(batch) if hasattr(batch, "__len__") else ""),
)
def test_a_torch_loss_gets_the_target_of_any_batch(batch, loss_fn):
    assert BatchLoss(MODEL, loss_fn)(batch).item() == pytest.approx(EXPECTED)


def test_a_function_of_output_and_batch_gets_the_whole_batch():
    loss = BatchLoss(MODEL, lambda output, batch: F.cross_entropy(output, batch["wanted"]))
    assert loss({"x": X, "wanted": Y}).item() == pytest.approx(EXPECTED)


class TakesNames(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = MODEL

    def forward(self, ids, mask=None, labels=None):
        out = self.inner(ids if mask is None else ids * mask)
        return {"loss": F.cross_entropy(out, labels), "logits": out} if labels is not None else out


def test_the_model_computes_its_own_loss_as_hugging_face_does():
    batch = {"ids": X, "mask": torch.ones(12, 1), "labels": Y, "sentence": ["not a tensor"] * 12}
    model = TakesNames()
    assert BatchLoss(model)(batch).item() == pytest.approx(EXPECTED)
    assert BatchLoss(model, model)(batch).item() == pytest.approx(EXPECTED)
    assert BatchLoss(model)((X, torch.ones(12, 1), Y)).item() == pytest.approx(EXPECTED)


def test_a_transformers_model_with_a_batch_encoding():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=1, n_head=2, n_embd=16, vocab_size=20, n_positions=8, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    ids = torch.randint(0, 20, (4, 8), generator=torch.Generator().manual_seed(0))
    batch = transformers.BatchEncoding({"input_ids": ids, "labels": ids})
    assert BatchLoss(model)(batch).item() == pytest.approx(model(**batch).loss.item())
    half = take_rows(batch, [0, 2])
    assert isinstance(half, transformers.BatchEncoding)
    assert torch.equal(half["input_ids"], ids[[0, 2]])


class TakesTheBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = MODEL

    def forward(self, batch):
        return self.inner(batch.inputs)


def test_a_model_that_takes_the_batch_itself_gets_it():
    assert BatchLoss(TakesTheBatch(), nn.CrossEntropyLoss())(Pair(X, Y)).item() == pytest.approx(EXPECTED)


def test_forward_can_be_said_outright():
    batch = {"unusual": X, "answer": Y}
    loss = BatchLoss(MODEL, lambda out, b: F.cross_entropy(out, b["answer"]), lambda m, b: m(b["unusual"]))
    assert loss(batch).item() == pytest.approx(EXPECTED)


def test_what_is_no_loss_is_refused_with_its_shape():
    with pytest.raises(BadOption, match=r"shape \(12,\)"):
        BatchLoss(MODEL, lambda output, batch: F.cross_entropy(output, batch[1], reduction="none"))((X, Y))
    with pytest.raises(BadOption, match=r"returned a tensor of shape \(12, 3\), which is not a loss"):
        BatchLoss(MODEL)((X, Y))
    with pytest.raises(BadOption, match="cannot be called"):
        BatchLoss(MODEL, "cross_entropy")
    with pytest.raises(BadModel, match="str is not a model"):
        BatchLoss("model")


@dataclasses.dataclass
class Nested:
    parts: dict
    names: list


def test_nested_batches_keep_their_types_and_places():
    batch = Nested({"a": (X, [Y])}, ["one"])
    assert [at for at, _ in named_tensors(batch)] == ["batch.parts['a'][0]", "batch.parts['a'][1][0]"]
    doubled = map_tensors(lambda tensor: tensor * 2, batch)
    assert isinstance(doubled, Nested)
    assert isinstance(doubled.parts["a"], tuple)
    assert torch.equal(doubled.parts["a"][0], X * 2)
    assert batch.parts["a"][0] is X
    assert same_batch(to_device(batch, torch.device("cpu")), batch)
    assert not same_batch(doubled, batch)


def test_rows_are_taken_from_tensors_and_from_lists_beside_them():
    names = [str(i) for i in range(12)]
    batch = {"x": X, "y": Y, "names": names, "scale": torch.ones(3)}
    assert rows_in(batch) == 12
    few = take_rows(batch, [3, 5])
    assert torch.equal(few["x"], X[[3, 5]])
    assert few["names"] == ["3", "5"]
    assert len(few["scale"]) == 3
