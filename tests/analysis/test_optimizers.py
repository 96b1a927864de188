import math

import pytest

from bedside.analysis.optimizers import is_scale_free, weight_decay
from bedside.testing import a_run


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"optimizers": [{"name": "AdamW", "weight_decay": 0.1}]}, True),
        ({"optimizers": [{"name": "AdamW"}, {"name": "SGD"}]}, False),
        ({"optimizer": "adamw_torch_fused"}, True),
        ({"optimizer": {"name": "sgd"}}, False),
        ({"optimizer.name": "adamw", "optimizer.eps": 1e-5}, True),
        ({"train/optim/_target_": "torch.optim.SGD", "optimizer_name": "adam"}, False),
        ({"trainer.optimizer": "lion"}, True),
        ({}, False),
    ],
)
def test_an_optimizer_that_divides_by_the_gradient_is_recognised(config, expected):
    assert is_scale_free(a_run(config=config)) is expected


def test_weight_decay_is_found_where_logs_keep_it():
    assert weight_decay(a_run(config={"optimizers": [{"name": "AdamW", "weight_decay": 0.1}]})) == 0.1
    assert weight_decay(a_run(config={"weight_decay": 0.2})) == 0.2
    assert weight_decay(a_run(config={"optimizer.name": "adamw", "optimizer.weight_decay": 0.3})) == 0.3
    assert math.isnan(weight_decay(a_run()))
