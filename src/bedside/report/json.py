"""A Diagnosis as the JSON contract: the keys, their order and their meaning do not change between versions.

JSON has no NaN and no infinity, and most parsers refuse Python's spelling of them, so they are written as the
strings "NaN", "Infinity" and "-Infinity". New keys are only ever added at the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from bedside import __version__
from bedside.finding import Diagnosis, Differential, Experiment, Finding


def diagnosis_to_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The contract as plain dicts and lists, ready for `json.dumps(..., allow_nan=False)`."""
    return {
        "bedside": __version__,
        "run": diagnosis.run,
        "format": diagnosis.format,
        "steps": diagnosis.steps,
        "verdict": diagnosis.verdict,
        "reason": diagnosis.reason,
        "findings": [finding_to_json(each) for each in diagnosis.findings],
        "not_examined": [{"code": each.code, "needs": list(each.needs)} for each in diagnosis.not_examined],
        "examined": list(diagnosis.examined),
        "notes": list(diagnosis.notes),
        "axis": diagnosis.axis,
        "differential": [_differential(each) for each in diagnosis.differential],
        "baseline": None if diagnosis.baseline is None else diagnosis.baseline.to_json(),
        "settled_by": diagnosis.settled_by,
    }


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """One finding as the contract has it."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.word,
        "confidence": plain(finding.confidence),
        "first_step": finding.first_step,
        "last_step": finding.last_step,
        "where": list(finding.where),
        "primary": finding.primary,
        "message": finding.message,
        "evidence": plain(finding.evidence),
        "causes": list(finding.causes),
        "could_also_be": list(finding.could_also_be),
        "try": list(finding.try_),
        "preview": finding.preview,
        "series": list(finding.series),
        "around": list(finding.around),
    }


def _differential(asked: Differential) -> dict[str, Any]:
    return {
        "question": asked.question,
        "about": asked.about,
        "first_step": asked.first_step,
        "hypotheses": [
            {
                "name": each.name,
                "title": each.title,
                "weight": plain(each.weight),
                "for": list(each.speaks_for),
                "against": list(each.speaks_against),
                "test": each.test.name if each.test else None,
            }
            for each in asked.hypotheses
        ],
        "test": _test(asked.test) if asked.test else None,
    }


def _test(test: Experiment) -> dict[str, Any]:
    outcomes = [{"if": each.seen, "then": each.means} for each in test.outcomes]
    return {"name": test.name, "cost": test.cost, "do": test.do, "outcomes": outcomes}


def plain(value: Any) -> Any:
    """Whatever a rule put into its evidence, or an experiment into its result, as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "tolist"):  # numpy's scalars and arrays, without importing numpy
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(each) for each in value)
    return str(value)
