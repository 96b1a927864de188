"""Compiled models are observed a few times, on a copy: no graph break, no further graph, the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.nn import functional as F

import bedside
from bedside.record.sqlite.reader import open_run


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.norm, self.drop, self.two = (
            nn.Linear(12, 16),
            nn.BatchNorm1d(16),
            nn.Dropout(0.2),
            nn.Linear(16, 5),
        )

    def forward(self, x):
        return self.two(self.drop(F.relu(self.norm(self.one(x)))))


def wrapped(model, backend):
    return torch.compile(model, backend=backend, fullgraph=True)


def in_place(model, backend):
    model.compile(backend=backend, fullgraph=True)
    return model


def as_function(model, backend):
    return torch.compile(lambda x: model(x), backend=backend, fullgraph=True)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


def steps(model, call, optimizer, count):
    for _ in range(count):
        optimizer.zero_grad()
        F.cross_entropy(call(torch.randn(8, 12)), torch.randint(5, (8,))).backward()
        optimizer.step()


def trained(how, folder, *, watch, backend="aot_eager", before=0, count=8, root="model"):
    """The final weights and the number of graphs."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(2)
    model = Net()
    call = how(model, backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    steps(model, call, optimizer, before)
    if watch:
        target = call if root == "wrapper" else model
        with bedside.watch(target, optimizer, run_dir=folder, quiet=True):
            steps(model, call, optimizer, count)
    else:
        steps(model, call, optimizer, count)
    assert not counters["graph_break"]
    return {k: v.clone() for k, v in model.state_dict().items()}, counters["stats"].get("unique_graphs", 0)


WAYS = {
    "the wrapper, before its first call": (wrapped, 0, "wrapper"),
    "the wrapper, already compiled": (wrapped, 3, "wrapper"),
    "the model inside, before the first call": (wrapped, 0, "model"),
    "the model inside, already compiled": (wrapped, 3, "model"),
    "compiled in place, before the first call": (in_place, 0, "model"),
    "compiled in place, already compiled": (in_place, 3, "model"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_model_is_heard_and_nothing_changes(way, tmp_path):
    how, before, root = WAYS[way]
    plain, graphs = trained(how, None, watch=False, before=before)
    watched, watched_graphs = trained(how, tmp_path / "run", watch=True, before=before, root=root)
    for name, value in plain.items():
        assert torch.equal(value, watched[name]), name
    assert watched_graphs == graphs, "it is compiled as if nobody watched"
    run = open_run(tmp_path / "run")
    assert not run.events_of("switched_off")
    assert not run.events_of("blind")
    recorded = run.series("activation_rms", "one")
    assert len(recorded) == 3, "of eight sampled steps: the first, the second and the fourth"
    assert run.series("zero_fraction", "relu").last > 0.2
    assert len(run.series("alive_units", "relu")) == 3
    assert run.series("eval_mode").values.max() == 0
    assert len(run.series("batch_fingerprint")) >= 4


def test_what_is_heard_is_what_the_uncompiled_model_puts_out(tmp_path):
    trained(wrapped, tmp_path / "compiled", watch=True)
    trained(lambda model, backend: model, tmp_path / "plain", watch=True)
    compiled, plain = open_run(tmp_path / "compiled"), open_run(tmp_path / "plain")
    for vital in ("activation_mean", "activation_rms", "activation_max"):
        usual = dict(zip(plain.series(vital, "one").steps, plain.series(vital, "one").values, strict=True))
        seen = compiled.series(vital, "one")
        assert len(seen) == 3
        assert seen.values.tolist() == pytest.approx([usual[step] for step in seen.steps])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("before", [0, 3])
def test_a_model_inside_a_compiled_function_is_not_watched_in_silence(before, tmp_path):
    plain, graphs = trained(as_function, None, watch=False, before=before)
    with pytest.warns(RuntimeWarning, match=r"No forward of Net is seen.*\n  Expected: .*\n  Try: ") as caught:
        weights, watched_graphs = trained(as_function, tmp_path / "run", watch=True, before=before)
    assert watched_graphs == graphs
    assert all(torch.equal(value, weights[name]) for name, value in plain.items())
    assert len(caught) == 1
    run = open_run(tmp_path / "run")
    assert [event.kind for event in run.events].count("blind") == 1
    assert len(run.loss) == 8
    assert run.has("grad_norm")


def test_sampling_on_and_off_adds_no_graph(tmp_path):
    _, graphs = trained(in_place, tmp_path / "run", watch=True, count=140)
    assert graphs == 1


def test_loss_functions_inside_a_compiled_function_break_no_graph(tmp_path):
    torch.manual_seed(0)
    model = Net()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def loss_of(x, y):
        return F.cross_entropy(model(x), y)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, vitals=["loss"]):
        for _ in range(6):
            optimizer.zero_grad()
            loss_of(torch.randn(8, 12), torch.randint(5, (8,))).backward()
            optimizer.step()
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 1
    assert len(open_run(tmp_path / "run").loss) == 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_inductor_trains_the_same_weights(tmp_path):
    # Watched first: inductor is then imported while functions are replaced.
    watched, watched_graphs = trained(
        wrapped, tmp_path / "run", watch=True, backend="inductor", count=4, root="wrapper"
    )
    plain, graphs = trained(wrapped, None, watch=False, backend="inductor", count=4)
    assert watched_graphs == graphs
    for name, value in plain.items():
        assert torch.equal(value, watched[name]), name
    assert len(open_run(tmp_path / "run").series("activation_rms", "one")) == 3
