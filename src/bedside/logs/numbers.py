"""Numbers as people and programs write them in logs: `1.5E-04`, `8,528`, `nan`, `12%`, `5ms`, `tensor(0.3)`."""

from __future__ import annotations

import math
import re

MISSING = frozenset({"", "na", "n/a", "none", "null", "-", "--", "?"})
NO_NUMBER = frozenset({"none", "null", "n/a"})  # of these, what programs write and no formatter does
_SPECIAL = {
    "nan": math.nan,
    "-nan": math.nan,
    "+nan": math.nan,
    "-nan(ind)": math.nan,
    "1.#qnan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}
# What NumPy, PyTorch, JAX and TensorFlow print around a number: `np.float64(2.3)`, `tensor(2.3, device='cuda:0')`.
WRAPPING = re.compile(
    r"""(?xi)
    (?<![\w.])(?:(?:np|numpy|cp|jnp|jax|torch|tf|mx|paddle)\.)?
        (?:float\d{0,3}|bfloat16|double|half|u?int\d{0,2}|tensor|Tensor|array|Array|DeviceArray)
        \(\s?\[{0,4}\s?['"]?(?=[-+]?(?:\.?\d|nan|inf))
  | <tf\.Tensor:[^<>=]{0,40}(?:shape=\([^()]{0,40}\),\s?)(?:dtype=\w{1,20},\s?)numpy=
  | ,\s?(?:dtype|device|grad_fn|requires_grad|weak_type)=(?:<[^<>]{1,80}>|[^\s,(){}\[\]<>]{1,40})
    """
)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")


def number(text: object) -> float | None:
    """The number in a cell; None when the cell is blank or holds something else. NaN is a number here."""
    if isinstance(text, float):
        return text
    if isinstance(text, bool):
        return float(text)
    if isinstance(text, int):
        try:
            return float(text)
        except OverflowError:
            return math.inf if text > 0 else -math.inf
    if not isinstance(text, str):
        return None
    try:
        # float() also takes "1_000" and "١": harmless here, and it is by far the fastest way.
        return float(text)
    except ValueError:
        return _unusual(text.strip().lower())


def _unusual(text: str) -> float | None:
    if text in MISSING:
        return None
    if text in _SPECIAL:
        return _SPECIAL[text]
    if text in ("true", "false"):
        return float(text == "true")
    if len(text) > 64:
        return None
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    if text.endswith("%"):
        share = number(text[:-1])
        return None if share is None else share / 100
    if text.endswith(".0") and text[:-2] in _SPECIAL:  # a format that adds a digit to whatever it gets
        return _SPECIAL[text[:-2]]
    bare = WRAPPING.sub("", text)
    return number(bare.rstrip(")]>'\"")) if bare != text else None
