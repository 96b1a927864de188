"""What the budget comes to is shown beside its aim, missed or not."""

from __future__ import annotations

import pytest
from scripts.budget_table import budget_table

HEAD = "workload,phase,steps,step_ms,percent,low,high,own_percent,rounds\n"


@pytest.mark.parametrize(
    ("row", "aim", "verdict"),
    [
        ("mlp,start,0-500,0.6,5.0,4,9,3,4", "5 %", "holds"),
        ("mlp,start,0-500,0.6,5.1,4,9,3,4", "5 %", "missed"),
        ("mlp,later,1500-2000,0.6,2.9,1,9,3,4", "3 %", "holds"),
        ("deep,later,1500-2000,12,2.9,1,9,3,4", "1 %", "missed"),
    ],
)
def test_a_number_above_its_aim_is_called_missed(row, aim, verdict, tmp_path):
    table = tmp_path / "budget.csv"
    table.write_text(HEAD + row + "\n")
    line = budget_table(table).splitlines()[-1]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2] == aim
    assert cells[3] == f"{row.split(',')[4]} %"
    assert cells[-1] == verdict
