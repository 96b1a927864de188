"""What other people's metric names mean in our vocabulary.

`read_name` looks at one name alone: which split it belongs to (train, val, test), whether it is a loss, a
learning rate, a gradient norm or another metric, and who owns it. Which of several losses is *the* loss can
only be said when all names are known: `resolve.py` and, for whole logs, `logs/to_run.py` do that.

>>> read_name("eval_loss").split, read_name("eval_loss").kind
('val', 'loss')
>>> read_name("optim/grad/module.blocks.2.ff.weight.norm").owner
'blocks.2.ff.weight'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from bedside.naming.loop_names import loop_name
from bedside.naming.name_parts import SPLITS, Name, is_foreign, split_words
from bedside.record.metric_direction import DOWN, UP

MAX_LENGTH = 300  # characters of a name that is looked at: nobody's metric is called longer
SYNONYMS = {
    "acc": "accuracy",
    "ppl": "perplexity",
    "categorical_accuracy": "accuracy",
    "top1": "accuracy",
    "acc_top1": "accuracy",
    "acc1": "accuracy",
}
PLURALS = {"losses": "loss", "accs": "acc", "accuracies": "accuracy", "perplexities": "perplexity"}
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
    "cv loss": ("val", "loss"),
    "new scale": ("", "loss_scale"),
    "l.r.": ("", "lr"),
    "cost": ("train", "loss"),
}
# spaCy's table has the held-out entities' F, precision and recall, and the accuracy of tags, in percent.
OF_SPACY = {"ents f": "f1", "ents p": "precision", "ents r": "recall", "tag acc": "accuracy", "dep uas": "score"}
# Beside "loss", these words say that it is the whole of it and not a part.
WHOLE_LOSS = frozenset("total tot overall combined all full sum main objective".split())
PLAIN_LOSS = frozenset(
    """lm mean avg avr average value batch per tok token tokens model running smoothed ce cross entropy crossentropy nll
    mlm language modeling mse bce ctc global raw the epoch step iter unscaled reduced""".split()
)
# Words of metrics; of those that a bare name may have by chance, only with a split before them.
METRICS = (UP | DOWN) - frozenset(
    "score hit hits win pass exact em return returns success margin margins distance bits corr errors l1 l2".split()
)
# Bookkeeping that evaluation writes beside its metrics; under val/ it would be judged as a metric.
BOOKKEEPING = frozenset(
    """runtime second seconds time duration examples samples flos size count memory mb gb elapsed remaining eta speed
    throughput tokens batches percentage progress timestamp ms gpu cpu util wps wpb bsz ups updates wall
    interval loader dataloader""".split()
)
# The losses of the pix2pix and CycleGAN code, of which half of all image translation is made, do not say so.
_ADVERSARIAL = frozenset("g d a b gan l1 real fake adv vgg feat cycle idt".split())
OVER = {
    "step": "step",
    "iter": "step",
    "iteration": "step",
    "epoch": "epoch",
}  # what a name ends in: a value per step, a mean
_AT_K = re.compile(r"@(\d+)$")  # Acc@1, recall@10
_JOINED = re.compile(r"(?i)\b(train|val|valid|test|eval|dev)(loss|acc)\b")  # trainloss
_HELD_OUT = re.compile(r"(?i)\bheld[-_ ]out")
_DATALOADER = re.compile(r"/dataloader_idx_\d+$")


@lru_cache(maxsize=10_000)  # text logs ask for the same few names on every line
def read_name(name: str) -> Name:
    """What one name says when it is looked at alone."""
    name = name.strip().strip("'\"")
    if len(name) > MAX_LENGTH:
        return Name("", "other")
    if is_foreign(name):
        name = "_".join(split_words(name))
    plain = " ".join(name.lower().replace("_", " ").split())
    if " vs " in plain:  # Megatron draws every curve once more over the samples
        return Name("", "other")
    if plain in WHOLE:
        split, kind = WHOLE[plain]
        return Name(split, kind, metric="loss" if kind == "loss" else "")
    if plain in OF_SPACY:
        return Name("val", "metric", metric=OF_SPACY[plain])
    return loop_name(name) or _metric(name)


def _metric(name: str) -> Name:
    owner, name = _evaluation_set(_AT_K.sub(r"_top\1", name) if "@" in name else name)
    split, words = _split(_JOINED.sub(r"\1_\2", _HELD_OUT.sub("holdout", name)))
    words = [word for word in words if word not in ("metrics", "metric")]
    if words and (words[-1] == "losses" or len(words) == 1):  # `train_losses`, `val_accs`: lists in a history
        words = [*words[:-1], PLURALS.get(words[-1], words[-1])]
    over = ""
    if len(words) > 1 and words[-1] in OVER:
        over, words = OVER[words[-1]], words[:-1]
    elif len(words) > 1 and words[0] == "epoch" and words[1] != "time":  # Keras in TensorBoard: epoch_loss
        words = words[1:]
    if not words or words[0] in ("final", "initial", "best", "target", "min", "max"):  # about the run, not about a step
        return Name(split, "other")
    if _is_loss(split, words):
        metric = "_".join(words)
        return Name(split, "loss", metric, owner, over=over, rank=_loss_rank(words), words=tuple(words))
    if BOOKKEEPING & set(words):
        return Name(split, "other")
    if words[-1] in ("ppl", "perplexity") and set(words[:-1]) <= PLAIN_LOSS | {"loss"}:
        words = ["perplexity"]  # `lm loss validation ppl`
    metric = "_".join(words)
    metric = SYNONYMS.get(metric, metric)
    if split or is_known(words):
        return Name(split or "train", "metric", metric, owner, over=over, words=tuple(words), bare=not split)
    return Name("", "other")


def is_known(words: Iterable[str]) -> bool:
    """Whether one of the words names a metric, alone or with a number: acc, acc5, map50."""
    return any(word in METRICS or word.rstrip("0123456789") in METRICS for word in words)


def _evaluation_set(name: str) -> tuple[str, str]:
    """`eval/c4/loss` and Lightning's `val_loss/dataloader_idx_1` name the set: (set, the name without it)."""
    match = _DATALOADER.search(name)
    if match:
        return match[0][1:], name[: match.start()]
    parts = name.split("/")
    if len(parts) > 2 and SPLITS.get(parts[0].strip().lower(), "train") != "train":
        return "/".join(parts[1:-1]), f"{parts[0]}/{parts[-1]}"
    return "", name


def _split(name: str) -> tuple[str, list[str]]:
    """The split may be a part of the path, or stand first (`eval_loss`), last (`Loss_train`) or in the middle."""
    parts = name.split("/")
    whole = next((i for i, part in enumerate(parts) if part.strip().lower() in SPLITS), None)
    if whole is not None and len(parts) > 1:
        rest = split_words("/".join(parts[:whole] + parts[whole + 1 :]))
        if rest:
            return SPLITS[parts[whole].strip().lower()], rest
    words = split_words(name)
    for at in (0, -1, *range(1, len(words) - 1)):
        if words and words[at] in SPLITS:
            if words[at] in ("tr", "dev", "test", "eval") and 0 < at < len(words) - 1:
                continue  # in the middle of a name these are as likely to be something else
            rest = words[:at] + (words[at + 1 :] if at != -1 else [])
            if rest:
                return SPLITS[words[at]], rest
    return "", words


def _is_loss(split: str, words: list[str]) -> bool:
    if words[-1] in ("ppl", "perplexity"):  # `lm loss validation ppl`
        return False
    if any(word.endswith("loss") for word in words) or "nll" in words or "cross entropy" in " ".join(words):
        return True
    if len(words) > 1 and (words[0] == "l" or set(words) <= _ADVERSARIAL):  # l_pix of BasicSR
        return True
    return bool(split) and words[-1] in ("ce", "crossentropy")


def _loss_rank(words: list[str]) -> int:
    others = set(words) - {"loss", "losses"}
    if "logloss" in others:  # what trees call it: logloss, binary_logloss
        return 1
    if not others or others <= WHOLE_LOSS:
        return 0
    return 1 if others <= PLAIN_LOSS | WHOLE_LOSS else 2
