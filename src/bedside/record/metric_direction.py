"""Which way is better: accuracy goes up, losses and error rates go down. The one place that knows.

>>> goes_up("accuracy"), goes_up("val/loss"), goes_up("val/wer"), goes_up("val/num_examples")
(True, False, False, None)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Words of a metric's name, after splitting it at / _ - . @ and at capitals.
BETTER_HIGH = """
accuracy acc top1 top5 f1 fscore precision recall auc auroc auprc roc map ap iou miou dice jaccard bleu sacrebleu
rouge rouge1 rouge2 rougel rougelsum meteor chrf ndcg mrr hit hits psnr ssim score r2 mcc matthews pearson spearman
spearmanr kappa correlation corr reward rewards rew return returns ret success win exact em pass specificity sensitivity
cider spice bertscore margin margins concordance cindex
"""
BETTER_LOW = """
loss nll bce ce crossentropy mse rmse mae mape smape rmsle msle huber hinge error err errors perplexity ppl bpb bpc
bits wer cer ter fid kid eer lpips distance divergence brier ece regret deviance crps logloss chamfer epe fpr fnr
reconstruction recon l1 l2 xentropy
"""
# Shares of something, which some tools write from 0 to 1 and others from 0 to 100.
SHARES = frozenset(
    """accuracy acc top1 top5 f1 fscore precision recall auc auroc auprc roc map ap iou miou dice jaccard bleu sacrebleu
    rouge rouge1 rouge2 rougel rougelsum meteor chrf ndcg mrr hits exact em""".split()
)
PERCENT = frozenset("sacrebleu chrf".split())  # from 0 to 100 whatever their values are
A_HAIR = 0.02  # above one: what averages over batches of unequal size overshoot by; nobody is right in 1.02 % of cases
UP, DOWN = frozenset(BETTER_HIGH.split()), frozenset(BETTER_LOW.split())
# A name that ends in one of these tells of a metric, and is none: `reward_std`, `accuracy_stderr`, `loss_weight`.
ABOUT = frozenset("std stddev stdev stderr sem var variance ci weight weights coef coefficient scale".split())
CODE_BOOK = frozenset("recon reconstruction vq commit commitment codebook".split())
PHRASES_UP = ("c_index", "mean_average_precision", "dice_coef", "clip_score", "exact_match", "r2_score", "q2")
PHRASES_DOWN = ("cross_entropy", "binary_crossentropy", "log_loss", "dice_loss", "neg_log_likelihood", "error_rate")


def goes_up(name: str) -> bool | None:
    """True if a higher value of the metric is better, False if lower, None if nothing is known about it."""
    tail = name.split("/", 1)[1] if name.startswith(("val/", "train/", "test/", "eval/")) else name
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tail).lower()
    for phrases, answer in ((PHRASES_DOWN, False), (PHRASES_UP, True)):
        if any(phrase in plain for phrase in phrases):
            return answer
    words = [word for word in re.split(r"[^a-z0-9]+|@\d+", plain) if word]
    if len(words) > 1 and (words[-1] in ABOUT or words[0] in ("std", "var")):
        return None
    if words and words[-1] == "rate" and {"error", "err"} & set(words):
        return False
    # The last telling word names the metric: `answer_loss`, `loss_accuracy` is an accuracy.
    for word in reversed(words):
        bare = word.rstrip("0123456789") or word
        if word in DOWN or bare in DOWN or bare.endswith("loss"):
            return False
        if word in UP or bare in UP or bare.endswith(("accuracy", "acc")):
            return True
    return None


def is_loss(name: str) -> bool:
    """A loss, or a likelihood in other words; not an error rate, which has a scale of its own."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    return any(word.endswith("loss") or word in {"nll", "crossentropy"} for word in words)


def has_code_book(names: Iterable[str]) -> bool:
    """Whether metrics of these names tell of a model that chooses from a code book: its perplexity counts the codes
    in use, which is neither the exponential of a loss nor better when it is low."""
    return any(CODE_BOOK & set(re.split(r"[^a-z]+", name.lower())) for name in names)


def full_score(name: str, highest: float) -> float:
    """What a perfect score of this metric is, if it has one: 1 or 100, whichever its `highest` value allows; else 0.

    >>> full_score("val/bleu", 27.3), full_score("val/accuracy", 0.8), full_score("val/psnr", 31.0)
    (100.0, 1.0, 0.0)
    """
    words = {word.rstrip("0123456789") or word for word in re.split(r"[^a-z0-9]+", name.lower())}
    words |= set(re.split(r"[^a-z0-9]+", name.lower()))
    if not words & SHARES or not 0 <= highest <= 100:
        return 0.0
    return 100.0 if words & PERCENT or in_percent(highest) else 1.0


def in_percent(highest: float) -> bool:
    """Whether a share whose `highest` value is this runs from 0 to 100."""
    return highest > 1 + A_HAIR
