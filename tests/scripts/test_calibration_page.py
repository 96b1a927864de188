"""The page of the reliability table says what the figures say."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from calibration_page import RESULTS, calibration_page  # noqa: E402  a script, not a package

FIGURES = """part,name,count,said,right
hypotheses,80% to 95%,40,0.8800,0.8500
hypotheses,Brier score,40,0.1234,nan
findings,95% to 100%,12,0.9700,1.0000
findings,Brier score,12,0.0100,nan
verdicts: sick specimens,sick,9,0.9,nan
verdicts: sick specimens,unclear,1,0.1,nan
verdicts: sick specimens,healthy,0,0.0,nan
contradictions,reports,0,nan,nan
"""


def test_bands_scores_verdicts_and_contradictions_are_on_it(tmp_path):
    (tmp_path / "figures.csv").write_text(FIGURES)
    page = calibration_page(tmp_path / "figures.csv")
    assert "| 80% to 95% | 40 | 88% | 85% |" in page
    assert "40 claims, Brier score 0.123." in page
    assert "| sick specimens | 9 | 1 | 0 |" in page
    assert "reports 0 contradicted themselves" in page


def test_no_report_of_the_published_figures_contradicts_itself():
    assert "contradictions,reports,0," in (ROOT / RESULTS).read_text()
