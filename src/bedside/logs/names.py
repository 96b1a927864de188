"""What other people's metric names mean in our vocabulary.

`read_name` looks at one name alone: which split it belongs to (train, val, test), whether it is a loss, a
learning rate, a gradient norm or another metric, and who owns it. Which of several losses is *the* loss can
only be said when all names are known; `meaning.py` does that.

>>> read_name("eval_loss").split, read_name("eval_loss").kind
('val', 'loss')
>>> read_name("optim/grad/module.blocks.2.ff.weight.norm").owner
'blocks.2.ff.weight'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from bedside.record.metrics import DOWN, UP

SPLITS = {
    "train": "train",
    "training": "train",
    "trn": "train",
    "tr": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "validate": "val",
    "eval": "val",
    "evaluation": "val",
    "evaluate": "val",
    "dev": "val",
    "holdout": "val",
    "test": "test",
    "testing": "test",
}
LONGEST = 300  # characters of a name that is looked at: nobody's metric is called longer
SYNONYMS = {
    "acc": "accuracy",
    "ppl": "perplexity",
    "categorical_accuracy": "accuracy",
    "top1": "accuracy",
    "acc_top1": "accuracy",
}
# Names that whole projects use for one thing; llm.c and modded-nanogpt write trl, tel and norm.
WHOLE = {
    "trl": ("train", "loss"),
    "tel": ("val", "loss"),
    "vl": ("val", "loss"),
    "lm loss": ("train", "loss"),
    "gnorm": ("", "grad_norm"),
    "norm": ("", "grad_norm"),
    "vloss": ("val", "loss"),
    "tloss": ("train", "loss"),
    "valoss": ("val", "loss"),
    "new scale": ("", "loss_scale"),
}
# Beside "loss", these words say that it is the whole of it and not a part.
WHOLE_LOSS = frozenset("total overall combined all full sum main objective".split())
PLAIN_LOSS = frozenset(
    """lm mean avg average batch per tok token tokens model running smoothed ce cross entropy crossentropy nll mlm
    language modeling mse bce ctc global raw the epoch step iter unscaled reduced""".split()
)
# Words of metrics; of those that a bare name may have by chance, only with a split before them.
METRICS = (UP | DOWN) - frozenset(
    "score hit hits win pass exact em return returns success margin margins distance bits corr errors".split()
)
# Bookkeeping that evaluation writes beside its metrics; under val/ it would be judged as a metric.
BOOKKEEPING = frozenset(
    """runtime second seconds time duration examples samples flos size count memory mb gb elapsed remaining eta speed
    throughput tokens batches percentage progress timestamp ms gpu cpu util""".split()
)
# In an owner's place these words mean the whole model.
NOBODY = frozenset("total overall all global norm model optim optimizer gradients grad debug stats metrics".split())
NOBODY |= frozenset(SPLITS)
CLOCKS = frozenset(("step", "steps", "global step", "trainer global step", "iteration", "iter", "current steps"))
_CAMEL = re.compile(r"(?<=[a-z0-9][a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s/_.:\-()\[\]|@]+")
_GRADIENT_OF = re.compile(
    r"""(?ix)^(?:
        (?:\w+/)? grad(?:ient)?s? / (?P<a>.+?) [./] (?:l2_?)?norm                # optim/grad/blocks.0.weight.norm
      | (?:\w+/)? (?:total_)? grad(?:ient)?s? [_ ]? (?:[\d.]+_|l2_)? norms? [/.:] (?P<b>.+)  # grad_2.0_norm/head.bias
      | (?P<c>.+) [/.] grad(?:ient)? [_ ]? (?:l2_)? norm                           # encoder/grad_norm
    )$"""
)
_WEIGHTS_OF = re.compile(
    r"""(?ix)^(?:
        (?:\w+/)? (?:param|weight)s? / (?P<a>.+?) [./] (?:l2_?)?norm
      | (?:\w+/)? (?:param(?:eter)?|weight)s? [_ ]? (?:l2_)? norms? [/.:] (?P<b>.+)
    )$"""
)
_LEARNING_RATE = re.compile(
    r"(?i)^(?:[\w ]+[/.])*(?:(?:train|optim)_)?(?:lr|learning[ _-]?rate)s?(?P<group>(?:[-/_. ].*)?)$"
)
_AT_K = re.compile(r"@(\d+)$")  # Acc@1, recall@10
_DATALOADER = re.compile(r"/dataloader_idx_\d+$")
_GROUP = re.compile(r"(?i)(?:pg|group|param_group)?[-_ ]?(\d+)$")


@dataclass(frozen=True)
class Name:
    """One metric's name, read: its split, its kind, and the rest of it."""

    split: str  # "", train, val, test
    kind: str  # loss, metric, lr, grad_norm, grad_norm_clipped, param_norm, loss_scale, skipped, epoch, clock, other
    metric: str = ""  # for losses and metrics: what is left without the split
    owner: str = ""  # the module, group or evaluation set
    over: str = ""  # "epoch" when it is Lightning's mean over the epoch beside a value per step
    rank: int = 0  # among losses: 0 plainly the loss, 1 a usual name of it, 2 the loss of something
    words: tuple[str, ...] = ()  # of the metric, for telling evaluation sets from parts


def split_words(name: str) -> list[str]:
    return [word.lower() for word in _SEPARATORS.split(_CAMEL.sub("_", name)) if word]


@lru_cache(maxsize=10_000)  # text logs ask for the same few names on every line
def read_name(name: str) -> Name:
    """What one name says when it is looked at alone."""
    name = name.strip().strip("'\"")
    if len(name) > LONGEST:
        return Name("", "other")
    plain = " ".join(name.lower().replace("_", " ").split())
    if plain in WHOLE:
        split, kind = WHOLE[plain]
        return Name(split, kind, metric="loss" if kind == "loss" else "")
    for found in (_norm(name), _rate(name), _clockwork(plain)):
        if found is not None:
            return found
    return _metric(name)


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
    group = match["group"].strip("-/_. ")
    if any(word in ("momentum", "decay", "weight", "scheduler", "scale", "mult") for word in split_words(group)):
        return None
    number = _GROUP.search(group)
    return Name("", "lr", owner=f"group_{number[1]}" if number and int(number[1]) else "")


def _clockwork(plain: str) -> Name | None:
    words = plain.replace("/", " ").split()
    tail = " ".join(word for word in words if word not in SPLITS)
    if tail in ("loss scale", "grad scale", "scaler scale", "amp scale", "scaler", "loss scaler"):
        return Name("", "loss_scale")
    if tail in ("skipped", "skipped steps", "number of skipped iterations", "overflow"):
        return Name("", "skipped")
    if tail in ("epoch", "epochs", "current epoch", "epoch num"):
        return Name("", "epoch")
    if tail in CLOCKS:
        return Name("", "clock")
    return None


def _metric(name: str) -> Name:
    owner, name = _evaluation_set(_AT_K.sub(r"_top\1", name) if "@" in name else name)
    split, words = _split(split_words(name))
    over = ""
    if len(words) > 1 and words[-1] in ("step", "epoch"):
        over, words = words[-1], words[:-1]
    elif len(words) > 1 and words[0] == "epoch" and words[1] != "time":  # Keras in TensorBoard: epoch_loss
        words = words[1:]
    if not words or words[0] in ("final", "best", "target", "min", "max"):  # about the run, not about a step
        return Name(split, "other")
    if "loss" in words or "nll" in words or (split and words[-1] in ("ce", "crossentropy")):
        metric = "_".join(words)
        return Name(split, "loss", metric, owner, over=over, rank=_loss_rank(words), words=tuple(words))
    if BOOKKEEPING & set(words):
        return Name(split, "other")
    metric = "_".join(words)
    metric = SYNONYMS.get(metric, metric)
    if split or METRICS & set(words):
        return Name(split or "train", "metric", metric, owner, over=over, words=tuple(words))
    return Name("", "other")


def _evaluation_set(name: str) -> tuple[str, str]:
    """`eval/c4/loss` and Lightning's `val_loss/dataloader_idx_1` name the set: (set, the name without it)."""
    match = _DATALOADER.search(name)
    if match:
        return match[0][1:], name[: match.start()]
    parts = name.split("/")
    if len(parts) > 2 and SPLITS.get(parts[0].strip().lower(), "train") != "train":
        return "/".join(parts[1:-1]), f"{parts[0]}/{parts[-1]}"
    return "", name


def _split(words: list[str]) -> tuple[str, list[str]]:
    """The split may stand first (`eval_loss`), last (`Loss/train`) or after a project's own prefix."""
    for at in (0, -1, *range(1, len(words) - 1)):
        if words and words[at] in SPLITS:
            if words[at] in ("tr", "dev", "test", "eval") and 0 < at < len(words) - 1:
                continue  # in the middle of a name these are as likely to be something else
            rest = words[:at] + (words[at + 1 :] if at != -1 else [])
            if rest:
                return SPLITS[words[at]], rest
    return "", words


def _loss_rank(words: list[str]) -> int:
    others = set(words) - {"loss", "losses", "metrics", "metric"}
    if not others or others <= WHOLE_LOSS:
        return 0
    return 1 if others <= PLAIN_LOSS | WHOLE_LOSS else 2
