"""The first operation that made NaN or Inf, for every source in the table, forward and backward."""

from __future__ import annotations

import pytest
import torch
from tests.training.models import cross_entropy, examples, loader
from torch import nn
from torch.nn import functional as F

from bedside import lab
from bedside.training.nonfinite.values import is_finite


class Op(nn.Module):
    """A module whose forward is one line."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def net(function, **more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), Op(function), nn.Linear(8, 3))


SOURCES = {
    "log(0)": (lambda x: x.relu().log(), "aten.log", "1"),
    "0/0": (lambda x: x.relu() / x.relu(), "aten.div", "1"),
    "large logits": (lambda x: (x * 1000).exp(), "aten.exp", "1"),
    "fp16 overflow": (lambda x: (x.half() * 60000 * 4).float(), "aten.mul", "1"),
    "in-place": (lambda x: (x * 1).log_(), "aten.log_", "1"),
    "exploding": (lambda x: (x * 1e30) @ (x * 1e30).T @ x, "aten.mm", "1"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_forward_source_is_named_with_module_operator_line_and_cure(source):
    function, operator, module = SOURCES[source]
    found = lab.nan_hunt(net(function), loader(), cross_entropy)
    assert found
    assert found.moment == "forward"
    assert found.source.name == source
    assert found.operator == operator
    assert found.module == module
    assert found.line.startswith("test_nan_hunt.py:")
    assert "lambda x" in found.line
    assert found.operands
    assert "Try: " in str(found)


def test_the_square_root_at_zero_is_found_in_the_backward():
    found = lab.nan_hunt(net(lambda x: (x - x).sqrt() + x), loader(), cross_entropy)
    assert (found.moment, found.source.name, found.operator) == ("backward", "sqrt at 0", "SqrtBackward0")
    assert "(x - x).sqrt()" in found.line
    assert "0.weight" in found.module


def test_what_is_masked_after_an_overflow_still_has_a_gradient():
    found = lab.nan_hunt(net(lambda x: (x * 1e5).exp().clamp(max=1) + x), loader(), cross_entropy)
    assert (found.moment, found.source.name) == ("backward", "large logits")
    assert "overflowed to infinity in the forward" in str(found)


def test_bad_input_names_the_place_in_the_batch():
    x, y = examples(16)
    x = x.clone()
    x[3, 2] = float("inf")
    found = lab.nan_hunt(net(lambda x: x), [{"x": x, "labels": y}], nn.CrossEntropyLoss())
    assert (found.moment, found.source.name, found.module) == ("input", "bad input", "batch['x']")
    assert found.operands[0].inf == 1


def test_weights_that_were_bad_before_are_named():
    model = net(lambda x: x)
    with torch.no_grad():
        model[2].bias[1] = float("nan")
    found = lab.nan_hunt(model, loader(), cross_entropy)
    assert (found.moment, found.module, found.source.name) == ("weights", "2.bias", "exploding")


def test_a_tensor_changed_after_it_was_saved_is_explained():
    def changes(x):
        kept = x.sigmoid()
        doubled = kept * 2
        kept += 1
        return doubled

    found = lab.nan_hunt(net(changes), loader(), cross_entropy)
    assert (found.moment, found.source.name) == ("backward", "in-place")
    assert "changed in place" in str(found)


def test_a_rate_too_high_is_reached_by_taking_steps():
    model = net(lambda x: x)
    found = lab.nan_hunt(model, loader(), cross_entropy, torch.optim.SGD(model.parameters(), lr=1e30), steps=5)
    assert found.step >= 1
    assert found.source.name == "exploding"


def test_the_loss_function_is_named_when_the_model_is_innocent():
    def loss(output, batch):
        return -(F.softmax(output * 1000, -1).log() * F.one_hot(batch[1], 3)).sum()

    found = lab.nan_hunt(net(lambda x: x), loader(), loss)
    assert (found.moment, found.source.name, found.operator) == ("loss", "log(0)", "aten.log")
    assert "in loss: return" in found.line


def test_a_mask_of_minus_infinity_is_no_fault_unless_it_hides_a_whole_row():
    def attention(hidden):
        return lambda x: F.softmax(x.masked_fill(hidden(x), float("-inf")), -1)

    assert not lab.nan_hunt(net(attention(lambda x: x > x.max(-1, keepdim=True)[0] - 1e-9)), loader(), cross_entropy)
    found = lab.nan_hunt(net(attention(lambda x: torch.ones_like(x, dtype=torch.bool))), loader(), cross_entropy)
    assert (found.operator, found.moment) == ("aten._softmax", "forward")
    assert "masked" in found.source.cause


class Nested(nn.Module):
    """Passes a NaN through a module before it reaches the one that is checked first, and returns nested outputs."""

    def __init__(self):
        super().__init__()
        self.late = nn.Linear(8, 8)  # registered first, called last: a propagator before the producer
        self.inner = Op(lambda x: {"values": [x / (x - x)], "count": torch.tensor(3)})
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.late(self.inner(x)["values"][0]))


def test_nested_outputs_and_a_propagator_that_is_registered_before_the_producer():
    found = lab.nan_hunt(Nested(), loader(), cross_entropy)
    assert (found.module, found.operator, found.source.name) == ("inner", "aten.div", "0/0")


class BetweenModules(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        hidden = self.first(x)
        hidden = hidden / (hidden - hidden)
        return self.second(hidden)


def test_an_operation_between_modules_belongs_to_the_model_itself():
    found = lab.nan_hunt(BetweenModules(), loader(), cross_entropy)
    assert (found.module, found.operator) == ("", "aten.div")
    assert "hidden / (hidden - hidden)" in found.line
    assert "in the model itself" in str(found)


def test_a_healthy_model_is_said_to_be_so():
    found = lab.nan_hunt(net(lambda x: x.relu()), loader(), cross_entropy, steps=3)
    assert not found
    assert str(found) == "All values are finite over 3 steps: loss, gradients and weights."


def test_tensors_of_every_kind_are_looked_into():
    half = torch.full((100_000,), 300.0, dtype=torch.float16)
    assert is_finite(half)  # its sum is not, in half precision
    half[7] = float("inf")
    assert not is_finite(half)
    assert is_finite(torch.arange(3))
    assert not is_finite(torch.sparse_coo_tensor([[0]], [float("nan")], (3,), check_invariants=True))


@pytest.fixture
def one_process_mesh(tmp_path):
    distributed = torch.distributed
    if not distributed.is_available():
        pytest.skip("torch was built without distributed")
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield distributed.device_mesh.init_device_mesh("cpu", (1,))
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")  # torch's own about DTensor
def test_parameters_that_are_dtensors(one_process_mesh):
    from torch.distributed.fsdp import fully_shard

    model = net(lambda x: x.relu().log())
    fully_shard(model, mesh=one_process_mesh)
    found = lab.nan_hunt(model, loader(), cross_entropy)
    assert (found.operator, found.source.name) == ("aten.log", "log(0)")
