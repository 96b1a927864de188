from bedside.analysis.leaf_modules import leaf_owners, leaves, owner_sizes, places
from bedside.record.run import Parameter
from bedside.record.vocabulary import GRAD_NORM
from bedside.testing import a_run


def test_a_container_is_no_leaf_and_a_bare_parameter_is_one():
    assert leaf_owners(["scale", "layers", "layers.0", "layers.0.attn", "layers.10", "head"]) == [
        "scale", "layers.0.attn", "layers.10", "head",
    ]  # fmt: skip


def test_leaves_come_in_model_order():
    run = a_run(grad_norm={"z": 1.0, "body": 2.0, "body.1": 1.0, "body.0": 1.0, "a": 3.0})
    assert [series.owner for series in leaves(run, GRAD_NORM)] == ["z", "body.1", "body.0", "a"]


def test_a_container_stands_for_its_leaves_only_when_all_are_affected():
    everyone = ["embed", "layers.0.a", "layers.0.b", "layers.1.a", "layers.1.b", "head"]
    assert places(["layers.0.a", "layers.0.b", "layers.1.a"], of=everyone) == ["layers.0", "layers.1.a"]
    assert places(everyone, of=everyone) == ["embed", "layers", "head"]


def test_sizes_are_known_by_module_and_by_parameter():
    run = a_run(parameters=[Parameter("a.weight", "a", 12), Parameter("a.bias", "a", 3), Parameter("s", "s", 5)])
    assert owner_sizes(run) == {"a": 15, "a.weight": 12, "a.bias": 3, "s": 5}
