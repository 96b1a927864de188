"""The common contract of the zoo: pages, the one line, names that exist, and the list against the folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bedside.rules import CATALOGUE
from bedside.zoo import specimens
from bedside.zoo.specimens import ZOO, find_specimen

FOLDER = Path(specimens.__file__).parent
SECTIONS = ["Story", "What to see", "Source"]
# In the catalogue's design, and not yet in the catalogue.
NOT_YET = {"double-softmax"}

every = pytest.mark.parametrize("specimen", ZOO, ids=lambda each: each.name)


def test_the_list_is_the_folder():
    files = sorted(path.stem.replace("_", "-") for path in FOLDER.glob("*.py") if path.stem != "__init__")
    assert sorted(each.name for each in ZOO) == files


def test_there_are_enough_of_them_and_of_every_kind_of_model():
    assert sum(each.sick for each in ZOO) >= 45
    assert {each.kind for each in ZOO} >= {"MLP", "conv net", "GPT", "LSTM", "encoder", "autoencoder", "GAN", "policy"}


@every
def test_its_file_is_its_page(specimen):
    assert specimen.file.stem == specimen.name.replace("-", "_")
    assert re.findall(r"^## (.+)$", specimen.page, re.M) == SECTIONS
    assert specimen.title.endswith(".")
    assert len(specimen.title) <= 120


@every
def test_sick_and_healthy_differ_in_one_line(specimen):
    lines = [line for line in specimen.file.read_text(encoding="utf-8").splitlines() if ".sick" in line]
    assert len(lines) == (1 if specimen.sick else 0), lines
    assert bool(specimen.the_line) == specimen.sick


@every
def test_the_twin_needs_no_dose(specimen):
    """A severity is read on the sick line only, so that one twin serves all severities."""
    lines = specimen.file.read_text(encoding="utf-8").splitlines()
    near = {at + offset for at, line in enumerate(lines) if ".sick" in line for offset in (-1, 0, 1)}
    assert all(at in near for at, line in enumerate(lines) if "case.severity" in line)


@every
def test_it_expects_findings_that_exist(specimen):
    known = {rule.name for rule in CATALOGUE}
    assert specimen.names - NOT_YET <= known | designed()


@every
def test_a_sick_one_can_be_shown_to_fail(specimen):
    assert (specimen.fault_check is not None) == specimen.sick


def designed() -> set[str]:
    """Names that the catalogue reserves; a rule may come after its specimen."""
    return {
        "underflowing-second-moment",
        "symmetric-units",
        "collapsed-attention",
        "growing-activations",
        "collapsed-activations",
        "saturated-units",
        "dead-units",
        "bad-batch",
        "repeated-batches",
        "lopsided-labels",
        "unnormalised-input",
        "extreme-input",
        "nonfinite-input",
        "ranks-see-same-data",
        "ranks-disagree",
        "late-overshoot",
        "weight-jump",
    }


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(Exception, match="No specimen is called 'ded-layer'") as error:
        find_specimen("ded-layer")
    assert "dead-layer" in str(error.value).splitlines()[1]
