"""Values of any shape become JSON and tensors, and the same values again."""

from __future__ import annotations

import json
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from bedside.incident.serialisation import LeftOut, Packing, unpack

Pair = namedtuple("Pair", "image label")


@dataclass(frozen=True)
class Item:
    image: torch.Tensor
    name: str


def there_and_back(value):
    packing = Packing()
    tree = json.loads(json.dumps(packing.pack(value, "value"), allow_nan=False))
    return unpack(tree, packing.tensors), packing


@pytest.mark.parametrize(
    "value",
    [None, True, 3, "word", 0.25, float("inf"), b"\x00\xff", [1, (2, 3)], {"a": {1: 2}}, torch.bfloat16, 10**30],
)
def test_plain_values_come_back_as_they_were(value):
    back, _ = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


def test_nan_comes_back_as_nan():
    back, _ = there_and_back({"loss": float("nan")})
    assert back["loss"] != back["loss"]


def test_batches_keep_their_shape():
    batch = {"pair": Pair(torch.arange(3), torch.ones(2, dtype=torch.bfloat16)), "item": Item(torch.eye(2), "cat")}
    back, _ = there_and_back(batch)
    assert isinstance(back["pair"], Pair)
    assert torch.equal(back["pair"].image, torch.arange(3))
    assert isinstance(back["item"], Item)
    assert back["item"].name == "cat"


def test_packed_sequences_and_sparse_tensors_and_arrays():
    packed = pack_sequence([torch.arange(3.0), torch.arange(2.0)])
    sparse = torch.eye(3).to_sparse()
    (one, other, array, words), _ = there_and_back([packed, sparse, np.arange(4, dtype=np.int16), np.array(["a", "b"])])
    assert torch.equal(one.data, packed.data)
    assert torch.equal(other.to_dense(), torch.eye(3))
    assert array.dtype == np.int16
    assert words.tolist() == ["a", "b"]


def test_a_tensor_in_two_places_is_kept_once():
    x = torch.ones(1000)
    (one, other), packing = there_and_back([x, (x,)])
    assert packing.bytes == x.numel() * 4
    assert torch.equal(one, other[0])


def test_what_cannot_be_written_is_left_out_and_named():
    back, packing = there_and_back({"x": torch.ones(1), "file": object()})
    assert isinstance(back["file"], LeftOut)
    assert packing.left_out == ["value.file (object)"]


def test_reading_calls_no_class_that_a_file_names():
    tree = {"is": "dataclass", "class": "subprocess:Popen", "of": [["args", "true"]]}
    assert unpack(tree, {}) == {"args": "true"}
    tree = {"is": "named tuple", "class": "builtins:eval", "of": ["1"]}
    assert unpack(tree, {}) == ("1",)
