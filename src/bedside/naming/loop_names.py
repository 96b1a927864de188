"""Names of what the training loop itself reads: gradient and weight norms, learning rates, scales, clocks.

>>> loop_name("grad_2.0_norm/head.bias").owner, loop_name("lr-AdamW/pg1").owner
('head.bias', 'group_1')
"""

from __future__ import annotations

import re

from bedside.naming.name_parts import SPLITS, Name, split_words

# In an owner's place these words mean the whole model.
NOBODY = frozenset("total overall all global norm model optim optimizer gradients grad debug stats metrics".split())
NOBODY |= frozenset(SPLITS)
CLOCKS = frozenset(("step", "steps", "global step", "trainer global step", "iteration", "iter", "current steps"))
_GRADIENT_OF = re.compile(
    r"""(?ix)^(?:
        (?:\w+/)? grad(?:ient)?s? / (?P<a>.+?) [./] (?:l2_?)?norm                # optim/grad/blocks.0.weight.norm
      | (?:\w+/)? (?:total_)? grad(?:ient)?s? [_ ]? (?:[\d.]+_|l2_)? norms? [/.:] (?P<b>.+)  # grad_2.0_norm/head.bias
      | (?P<c>.+) [/.] grad(?:ient)? [_ ]? (?:l2_)? norm                           # encoder/grad_norm
      | (?:l2_)? norms? / grad(?:ient)?s? / (?P<d>.+)                              # l2_norm/grad/blocks.0 of Composer
    )$"""
)
_WEIGHTS_OF = re.compile(
    r"""(?ix)^(?:
        (?:\w+/)? (?:param|weight)s? / (?P<a>.+?) [./] (?:l2_?)?norm
      | (?:\w+/)? (?:param(?:eter)?|weight)s? [_ ]? (?:l2_)? norms? [/.:] (?P<b>.+)
      | (?:l2_)? norms? / (?:param(?:eter)?|weight)s? / (?P<c>.+)
    )$"""
)
_LEARNING_RATE = re.compile(
    r"(?i)^(?:[\w ]+[/.])*"
    r"(?:(?:train|optim\d{0,2}|current|cur|adjusted|effective|actual|scaled|scheduled)[_ ])?(?:lr|learning[ _-]?rate)s?"
    r"(?P<group>\d{0,2}(?:[-/_. (].*)?)$"
)
_GROUP = re.compile(r"(?i)(?:pg|group|param_group)?[-_ ]?(\d+)$")


_CLIPPED = frozenset("clip clipped clipping".split())
_HOW_OFTEN = frozenset("freq frequency rate pct percent percentage share".split())


def loop_name(name: str) -> Name | None:
    """What a name means if it is one of the loop's own; None if it is a loss, a metric or unknown."""
    return _norm(name) or _rate(name) or _clockwork(" ".join(name.lower().replace("_", " ").split()))


def _norm(name: str) -> Name | None:
    for pattern, kind in ((_GRADIENT_OF, "grad_norm"), (_WEIGHTS_OF, "param_norm")):
        match = pattern.match(name)
        if match:
            owner = next(group for group in match.groups() if group)
            if set(split_words(owner)) <= NOBODY:
                return Name("", kind)
            return Name("", kind, owner=owner.removeprefix("module."))
    words = set(split_words(name)) - set(SPLITS)
    if "norm" in words or "norms" in words:
        rest = words - {"norm", "norms", "l2", "2", "0", "total", "global", "overall", "all", "optim", "avg", "mean"}
        if rest & {"grad", "gradient", "grads", "gradients"}:
            rest -= {"grad", "gradient", "grads", "gradients", "pre", "before", "unclipped", "raw"}
            if not rest:
                return Name("", "grad_norm")
            if rest <= {"clipped", "clip", "post", "after"}:
                return Name("", "grad_norm_clipped")
        elif rest <= {"param", "params", "parameter", "weight", "weights", "model"} and rest:
            return Name("", "param_norm")
    return None


def _rate(name: str) -> Name | None:
    match = _LEARNING_RATE.match(name)
    if not match:
        return None
    group = match["group"].strip("-/_. ()")
    if any(word in ("momentum", "decay", "weight", "scheduler", "scale", "mult") for word in split_words(group)):
        return None
    number = _GROUP.search(group)
    return Name("", "lr", owner=f"group_{number[1]}" if number and int(number[1]) else "")


def _clockwork(plain: str) -> Name | None:
    words = plain.replace("/", " ").split()
    tail = " ".join(word for word in words if word not in SPLITS)
    if tail in ("loss scale", "grad scale", "scaler scale", "amp scale", "scaler", "loss scaler"):
        return Name("", "loss_scale")
    if tail in ("skipped", "skipped steps", "step skipped", "optim step skipped", "number of skipped iterations"):
        return Name("", "skipped")
    said = set(tail.split())
    if said & _CLIPPED and said & _HOW_OFTEN and said <= _CLIPPED | _HOW_OFTEN | {"grad", "gradient", "grads", "norm"}:
        return Name("", "clip_active")  # not clip_frac: policy optimisation clips ratios
    if tail in ("epoch", "epochs", "current epoch", "epoch num"):
        return Name("", "epoch")
    if tail in CLOCKS:
        return Name("", "clock")
    return None
