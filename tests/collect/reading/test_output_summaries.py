"""Summaries of many outputs at once, against each of them alone, element by element."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bedside.collect.model.nonlinearities import RELU, RELU6, SIGMOID, SOFTMAX, TANH
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.output_summaries import SHEET, SUMMARY, Output, Sheets, Stack
from bedside.collect.reading.subsample import Cut
from bedside.record.missing import is_missing

pytestmark = pytest.mark.usefixtures("way")


def outputs_of(tensors, kinds):
    return [
        Output(place, f"layer{place}", kind, Cut.for_shape(tensor.shape, tensor.dim() < 4), tensor.shape, tensor.dtype)
        for place, (tensor, kind) in enumerate(zip(tensors, kinds, strict=True))
    ]


def alone(output, tensor, turn):
    grid = output.cut.of(tensor, turn).double()
    rms = grid.square().mean().sqrt()
    saturated = np.nan
    if output.saturates:
        saturated = float(output.kind.saturated(grid).double().mean()) * output.shares
    return [
        float(grid.mean()),
        float(rms),
        float(grid.abs().max()),
        float((grid == 0).double().mean()),
        float((~grid.isfinite()).double().mean()),
        float(grid.var(0, correction=0).mean().sqrt() / rms) if len(grid) >= 4 else np.nan,
        float(grid.var(1, correction=0).mean().sqrt() / rms) if grid.shape[1] >= 4 else np.nan,
        saturated,
    ]


def read(reader, tensors, turn):
    numbers = np.asarray(reader.read(tensors, turn))
    found = reader.finished(numbers[None] if isinstance(reader, Sheets) else numbers.reshape(1, -1))[0]
    return dict(zip(reader.owners, found.T, strict=True))


def test_outputs_side_by_side_are_summarised_as_each_alone():
    torch.manual_seed(0)
    shapes = [(32, 40), (32, 40), (32, 7), (32, 3), (2, 5), (9,), (32, 300), (4, 8, 12), (32, 3, 16, 16), (32, 40)]
    tensors = [torch.randn(shape) for shape in shapes]
    tensors[1] = tensors[1].relu()
    tensors[2] = (9 * tensors[2]).sigmoid()
    tensors[4] = tensors[4].double()
    tensors[6] = (9 * tensors[6]).softmax(-1).bfloat16()
    tensors[7] = tensors[7].transpose(0, 2)
    tensors[9] = (9 * tensors[9]).tanh()
    kinds = [None, RELU, SIGMOID, None, None, None, SOFTMAX, None, None, TANH]
    outputs = outputs_of(tensors, kinds)
    for turn in (0, 5):
        found = read(Sheets(outputs), tensors, turn)
        for output in outputs:
            expected = alone(output, tensors[output.place], turn)
            assert found[output.owner] == pytest.approx(expected, rel=1e-5, abs=1e-7, nan_ok=True), output.owner


def test_outputs_of_one_precision_are_summarised_as_each_alone(way):
    torch.manual_seed(0)
    shapes = [
        (32, 40),
        (32, 7),
        (300, 500),
        (64, 300),
        (16, 30, 200),
        (16, 8, 20, 20),
        (5000,),
        (32, 1),
        (1, 9),
        (32, 6),
    ]
    tensors = [torch.randn(shape) for shape in shapes]
    tensors[1] = (6 * tensors[1]).sigmoid()
    tensors[2] = tensors[2].relu()
    tensors[3] = (30 * tensors[3]).softmax(-1)
    tensors[4] = (4 * tensors[4]).tanh()
    tensors[9] = (9 * tensors[9]).relu().clamp(max=6)
    kinds = [None, SIGMOID, RELU, SOFTMAX, TANH, None, None, None, None, RELU6]
    outputs = outputs_of(tensors, kinds)
    for turn in (0, 1, 5, 1000):
        found = read(Sheets(outputs), tensors, turn)
        for output in outputs:
            expected = alone(output, tensors[output.place], turn)
            assert found[output.owner] == pytest.approx(expected, rel=1e-5, abs=1e-7, nan_ok=True), output.owner
    assert (Sheets(outputs)._tables.add_up(tensors, 0) is not None) if way == "native" else not native.ready()


def test_what_machine_code_could_not_read_is_left_to_numpy():
    class Dressed(torch.Tensor):
        pass

    table = torch.randn(8, 6)
    for odd in (table.t(), table.double(), table.bfloat16(), table[:, ::2], table.as_subclass(Dressed)):
        outputs = outputs_of([table, odd], [None, TANH])
        found = read(Sheets(outputs), [table, odd], 0)["layer1"]
        assert found == pytest.approx(alone(outputs[1], odd, 0), rel=1e-2, abs=1e-6, nan_ok=True)


def test_what_cannot_be_told_is_missing():
    tensors = [torch.randn(2, 8), torch.randn(8, 2)]
    found = read(Sheets(outputs_of(tensors, [None, TANH])), tensors, 0)
    missing = {owner: [SUMMARY[i] for i in np.flatnonzero(is_missing(row.copy()))] for owner, row in found.items()}
    assert missing == {"layer0": ["batch_variation", "saturated_fraction"], "layer1": ["unit_variation"]}


def test_many_outputs_fill_many_sheets():
    torch.manual_seed(0)
    tensors = [torch.randn(64, 64) + place for place in range(3 * SHEET // 4096)]
    outputs = outputs_of(tensors, [None] * len(tensors))
    found = read(Sheets(outputs), tensors, 0)
    for output in outputs:
        assert found[output.owner][0] == pytest.approx(float(tensors[output.place].mean()), rel=1e-5)


@pytest.mark.parametrize("samples", [255, 256, 1000])
def test_zeros_are_counted_among_however_many_samples(samples):
    tensors = [torch.ones(samples, 4), torch.eye(samples)[:, :4]]
    found = read(Sheets(outputs_of(tensors, [None, None])), tensors, 0)
    zeros = SUMMARY.index("zero_fraction")
    assert found["layer0"][zeros] == 0.0
    assert found["layer1"][zeros] == pytest.approx(1 - 1 / samples)


def test_nan_in_one_output_is_not_its_neighbours():
    tensors = [torch.ones(8, 4), torch.ones(8, 4), torch.ones(8, 4)]
    tensors[1][2:4] = torch.nan
    tensors[2][0, 0] = torch.inf
    found = read(Sheets(outputs_of(tensors, [None] * 3)), tensors, 0)
    bad = SUMMARY.index("nonfinite_activations")
    assert [found[f"layer{i}"][bad] for i in range(3)] == [0, 0.25, 1 / 32]
    assert np.isfinite(found["layer0"][:7]).all()


def test_a_device_gives_the_same_numbers_as_the_cpu():
    torch.manual_seed(0)
    tensors = [torch.randn(64, 96), (9 * torch.randn(64, 96)).sigmoid()]
    outputs = outputs_of(tensors, [None, SIGMOID])
    near, far = read(Sheets(outputs), tensors, 3), read(Stack(outputs), tensors, 3)
    for owner, row in near.items():
        assert far[owner] == pytest.approx(row, rel=1e-5, abs=1e-7, nan_ok=True)


def test_images_with_channels_last_are_read_without_copying_them():
    torch.manual_seed(0)
    image = torch.randn(16, 8, 5, 5).to(memory_format=torch.channels_last) + torch.arange(8.0)[:, None, None]
    [output] = outputs_of([image], [None])
    found = read(Sheets([output]), [image], 0)["layer0"]
    assert output.cut.whole
    assert found == pytest.approx(alone(output, image, 0), rel=1e-5, nan_ok=True)
    larger = image.repeat(4, 1, 4, 4).contiguous(memory_format=torch.channels_last)
    [output] = outputs_of([larger], [None])
    found = read(Sheets([output]), [larger], 0)["layer0"]
    assert found[:2] == pytest.approx(alone(output, larger, 0)[:2], rel=0.05)
