"""The demo shows the same on every machine, however busy it is."""

from __future__ import annotations

import pytest

import bedside
from bedside import demo


class Silent:
    is_terminal = False

    def print(self, *lines):
        pass


def test_every_step_of_the_demo_is_recorded_in_full(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    watch, asked = bedside.watch, []

    def noting(*arguments, **options):
        asked.append(options)
        return watch(*arguments, **options)

    monkeypatch.setattr(bedside, "watch", noting)
    monkeypatch.setattr(demo, "EPOCHS", 4)
    demo._train(True, tmp_path / "sick", Silent(), 0)
    assert [options["budget"] for options in asked] == [None]  # a busy machine would read fewer steps
    run = bedside.load(tmp_path / "sick")
    for vital in ("grad_norm", "relative_update_norm"):
        assert len(run.series(vital, "pixel_scale")) == run.steps > 50
