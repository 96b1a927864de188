import base64
import hashlib
import json
import re

import numpy as np

from bedside.diagnosis.engine import examine
from bedside.report.page_data import page_data
from bedside.report.standalone import embedded, run_to_page, static
from bedside.testing import a_run


def a_deep_run(steps=3000, layers=40):
    rng = np.random.default_rng(0)
    per_layer = {f"blocks.{i}.mlp": 1 + rng.random(steps) for i in range(layers)}
    return a_run(
        loss=2 + rng.random(steps),
        lr=1e-3,
        val_loss=list(2 + rng.random(30)),
        val_accuracy=list(rng.random(30)),
        grad_norm={"": 1 + rng.random(steps), **per_layer},
        param_norm={"": 9.0, **per_layer},
        relative_update_norm={"": 1e-3, **per_layer},
        activation_rms=per_layer,
        dead_fraction=per_layer,
    )


def test_an_ordinary_run_stays_well_below_a_megabyte():
    run = a_deep_run()
    page = run_to_page(run, examine(run))
    assert len(page.encode()) < 1_000_000


def test_the_page_has_one_block_of_data_and_no_script_but_its_own():
    run = a_run(loss=[3.0, 2.0], name="</script><script>alert(1)</script>")
    page = run_to_page(run, examine(run))
    assert page.count("<script") == page.count("</script>") == 2
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data)["run"] == "</script><script>alert(1)</script>"
    allowed = re.search(r"script-src 'sha256-([^']+)'", page)[1]
    assert base64.b64decode(allowed) == hashlib.sha256(static("app.js").encode()).digest()
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page


def test_without_a_script_the_page_still_tells_the_story():
    run = a_run(loss=[3.0] * 30 + [float("nan")] * 30)
    page = run_to_page(run, examine(run))
    assert "<noscript><pre>" in page
    assert "nonfinite-loss" in page.partition("<noscript>")[2].partition("</noscript>")[0]


def test_data_cannot_end_the_element_it_stands_in():
    text = embedded({"a": "</script>\u2028 & <!--"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script>\u2028 & <!--"}


def test_the_page_says_what_the_text_says(sick):
    run = a_run(loss=[1.0] * 1200, grad_norm={"layers.0": 1e-8, "head": 1.0})
    data = page_data(run, sick, {"GRD101": "# the page"})
    first = data["chapters"][0]
    said = str(sick)
    assert first["label"] in said
    assert first["message"].split("`")[2].strip() in said
    assert [each["label"] for each in first["led_to"]] == ["LOS104 stalled-loss"]
    assert data["notes"][0]["label"] == "LRS108 no-learning-rate (preview)"
    assert data["rule_pages"] == {"GRD101": "# the page"}
    assert first["evidence"][0]["marks"] == [{"step": 150, "label": "GRD101 begins, 150"}]
