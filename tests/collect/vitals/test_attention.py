"""Attention entropy, against weights formed in full, in float64."""

from __future__ import annotations

import math

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.attention import QUERIES, of_call, query_places


def full_entropy(query, key, mask=None, causal=False, scale=None):
    """(heads, queries) of sequence 0, relative to looking at all visible keys alike; NaN below four of them."""
    q, k = query[0].double(), key[0].double()
    k = k.repeat_interleave(len(q) // len(k), 0)
    scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    hidden = torch.zeros(scores.shape, dtype=torch.bool)
    if causal:
        hidden |= torch.triu(torch.ones(scores.shape[-2:], dtype=torch.bool), 1)
    if mask is not None:
        if mask.dtype is torch.bool:
            hidden |= ~mask
        else:
            scores = scores + mask
            hidden |= mask == -math.inf
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    visible = (~hidden).sum(-1)
    entropy = -torch.special.xlogy(weights, weights).sum(-1) / visible.double().log()
    return torch.where(visible >= 4, entropy, torch.nan)


@pytest.mark.parametrize("length", [6, 40])
@pytest.mark.parametrize("how", ["plain", "causal", "bool mask", "float mask", "grouped", "scaled"])
def test_entropy_of_a_call_equals_that_of_the_full_weights(how, length):
    torch.manual_seed(0)
    query, key = 3 * torch.randn(1, 4, length, 8), torch.randn(1, 2 if how == "grouped" else 4, length, 8)
    mask = torch.rand(length, length) > 0.4
    float_mask = torch.zeros(length, length).masked_fill(~mask, -math.inf)
    extra = {
        "plain": {},
        "causal": {"is_causal": True},
        "bool mask": {"attn_mask": mask},
        "float mask": {"attn_mask": float_mask},
        "grouped": {"enable_gqa": True},
        "scaled": {"scale": 0.5},
    }[how]
    read = of_call(3, query, key, key, **extra)
    expected = full_entropy(
        query,
        key,
        mask={"bool mask": mask, "float mask": float_mask}.get(how),
        causal=how == "causal",
        scale=extra.get("scale"),
    )[:, query_places(length, 3)]
    torch.testing.assert_close(read[:, 0].double(), expected.nanmean(-1), rtol=1e-4, atol=1e-5)
    counted = (~expected.isnan()).sum(-1)
    torch.testing.assert_close(read[:, 1].double(), (expected < 0.1).sum(-1) / counted.double())
    torch.testing.assert_close(read[:, 2].double(), (expected > 0.95).sum(-1) / counted.double())


class Custom(nn.Module):
    """Attention written out by hand."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.sharp = 1.0

    def forward(self, x):
        q, k, v = (t.view(len(x), -1, 4, 4).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = self.sharp * q @ k.transpose(-1, -2)
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        weights = F.softmax(scores.masked_fill(mask, -math.inf), dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Mha(nn.Module):
    def __init__(self, need_weights):
        super().__init__()
        self.attn = nn.MultiheadAttention(16, 4, batch_first=True)
        self.need_weights = need_weights

    def forward(self, x):
        return self.attn(x, x, x, need_weights=self.need_weights)[0]


def train(model, tmp_path, inputs, steps=2, loss=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def body(step, monitor):
        optimizer.zero_grad()
        out = model(inputs)
        (loss(out) if loss else out.square().mean()).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps)


@pytest.mark.parametrize(
    ("model", "owner"),
    [
        (lambda: nn.Sequential(Custom()), "0"),
        (lambda: Mha(False), "attn"),
        (lambda: Mha(True), "attn"),
        (
            lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2),
            "layers.1.self_attn",
        ),
    ],
)
def test_attention_of_every_kind_is_heard(model, owner, tmp_path):
    torch.manual_seed(0)
    run = train(model(), tmp_path, torch.randn(3, 24, 16))
    entropy = run.series("attention_entropy", owner)
    assert len(entropy) == 2
    assert 0.5 < entropy.last <= 1.0
    assert run.series("attention_dirac", owner).last == 0


@pytest.mark.parametrize("kind", ["gpt2", "llama", "vit"])
def test_attention_of_transformers_models_is_heard(kind, tmp_path):
    import transformers

    torch.manual_seed(0)
    if kind == "gpt2":
        config = transformers.GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=4)
        model, inputs, owner = transformers.GPT2LMHeadModel(config), torch.randint(50, (2, 20)), "transformer.h.1.attn"
    elif kind == "llama":
        config = transformers.LlamaConfig(
            vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=32,
        )  # fmt: skip
        model, inputs, owner = (
            transformers.LlamaForCausalLM(config),
            torch.randint(50, (2, 20)),
            "model.layers.1.self_attn",
        )
    else:
        config = transformers.ViTConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, image_size=16,
            patch_size=4, num_labels=3,
        )  # fmt: skip
        model, inputs = transformers.ViTForImageClassification(config), torch.randn(2, 3, 16, 16)
        owner = ""
    model.train()
    run = train(model, tmp_path, inputs, loss=lambda out: out.logits.square().mean())
    owners = [each for each in run.owners("attention_entropy") if "head_" not in each]
    assert len(owners) == 2, owners
    if owner:
        assert owner in owners
    for each in owners:
        assert 0.5 < run.series("attention_entropy", each).last <= 1.001
        assert len([head for head in run.owners("attention_entropy") if head.startswith(f"{each}.head_")]) == 4


def test_a_head_that_looks_at_one_key_is_near_dirac(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(Custom())
    model[0].sharp = 1000.0
    run = train(model, tmp_path, torch.randn(3, 48, 16))
    assert run.series("attention_dirac", "0").last > 0.8
    assert run.series("attention_entropy", "0").last < 0.1


def test_a_head_that_looks_everywhere_alike_is_uniform(tmp_path):
    model = nn.Sequential(Custom())
    model[0].sharp = 0.0
    run = train(model, tmp_path, torch.randn(3, 48, 16))
    assert run.series("attention_uniform", "0").last == 1
    assert run.series("attention_entropy", "0").last == pytest.approx(1.0, abs=1e-4)


def test_probabilities_over_classes_are_not_taken_for_attention(tmp_path):
    model = nn.Sequential(nn.Linear(8, 10), nn.Softmax(-1))
    assert not train(model, tmp_path, torch.randn(4, 6, 8)).owners("attention_entropy")


def test_few_queries_are_taken_and_others_the_next_time():
    places = [query_places(200, turn) for turn in range(5)]
    assert all(len(each) == QUERIES for each in places)
    assert not torch.equal(places[0], places[1])
    assert all(each.min() >= 0 and each.max() < 200 for each in places)


def test_the_functions_are_put_back(tmp_path):
    original = F.scaled_dot_product_attention
    train(Mha(False), tmp_path, torch.randn(3, 24, 16))
    assert F.scaled_dot_product_attention is original
