"""Which curves of a run are losses that should fall: the training loss, the validation losses, and what is neither."""

from __future__ import annotations

import re
from functools import lru_cache

from bedside.analysis.rising_weights import rising_weight, untouched_part
from bedside.errors import NotEnough
from bedside.record.metric_direction import goes_up, has_code_book, is_loss
from bedside.record.run import Run
from bedside.record.series import Series

SCORE = "score"  # the objective of a critic: a mean of the network's own outputs, see collect/vitals/score_objective.py
MIN_READINGS = 10  # of the training loss: fewer, beside more evaluations, are samples of it and not its curve
COVERED = 0.5  # of the steps: a loss that was only printed at the start says nothing of what came later
OPPONENT = 0.1  # of the watched network's size, at least: a learnable temperature or a margin is no critic
# Written by reinforcement learning beside a "loss" that is a surrogate: it need not fall, and may be negative. A
# temporal-difference loss grows with the rewards. Not "kl" or "entropy", which variational and supervised trainers
# write as well, nor "rewards/chosen" of preference learning, whose loss should fall.
SURROGATE_SIGNS = frozenset(
    "clip_ratio clipfrac approx_kl policy_loss value_loss completion_length mean_completion_length epsilon q_values "
    "td_error episode_length episode_len ep_length ep_len ep_len_mean mean_episode_length".split()
)
GENERATED = frozenset({"fid", "kid"})
_REWARD = re.compile(
    r"(?:^|_)(?:reward|rew)(?:_|$)|(?:^|(?:mean|avg|average|total|episode|ep|eval)_)rewards(?:_mean)?$|rewards_mean$"
    r"|(?:mean|avg|average|total|episode|episodic|ep|discounted|cumulative)_ret(?:urns?)?(?:_|$)"
    r"|^returns?$"
)


_TASK_DONE = re.compile(r"(?:^|_)(?:success|win)(?:_|$)")  # of an agent; with a loss of either sign, one that explores


def training_loss(run: Run) -> Series:
    """The training loss per step, or per epoch where only that was logged; may be empty. Where the weight of another
    term rises, the part that it leaves alone."""
    part = untouched_part(run, "train") if rising_weight(run) else None
    return part or run.loss or run.series("loss_epoch")


def validation_losses(run: Run) -> list[Series]:
    """Every loss on held-out data: `val/loss`, or one per evaluation set, or losses under names of their own."""
    if rising_weight(run):
        part = untouched_part(run, "val")
        return [part] if part else []
    every = [series for series in run.matching("val/") if series and is_loss(series.vital)]
    main = [series for series in every if series.vital == "val/loss"] or every
    return [series for series in main if series.owner] or main  # beside sets, the ownerless one is their mean


def validation_metrics(run: Run) -> list[Series]:
    """Held-out metrics that are not losses and whose better direction is known: accuracy, WER, BLEU."""
    unknown = {"val/perplexity"} if has_code_book(run.vitals) else set()
    return [
        series
        for series in run.matching("val/")
        if series and not is_loss(series.vital) and goes_up(series.vital) is not None and series.vital not in unknown
    ]


def held_out_scores(run: Run) -> list[Series]:
    """The same, and scores of what a generator makes, which know no training data (FID)."""
    made = [run.series(vital) for vital in run.vitals if GENERATED & set(re.split(r"[^a-z]+", vital.lower()))]
    return [*validation_metrics(run), *(each for each in made if each and not each.vital.startswith("val/"))]


def rewards(run: Run) -> list[Series]:
    """Metrics of the training itself that should rise: a reward, a success rate."""
    return [
        series
        for vital in run.vitals
        if not vital.startswith("val/") and goes_up(vital) is True and (series := run.series(vital))
    ]


def judged_loss(run: Run) -> Series:
    """The loss that tells whether training works: the training loss if it covers the run, else a validation loss."""
    training = training_loss(run)
    held_out = [series for series in validation_losses(run) if len(series.finite())]
    if len(training.finite()) and (not held_out or _covers(training, held_out[0])):
        return training
    if held_out:
        return held_out[0]
    raise NotEnough("loss or val/loss")


def _covers(training: Series, held_out: Series) -> bool:
    """Whether the training loss was read to the end, and often enough beside the evaluations."""
    enough = len(training) >= MIN_READINGS or len(training) >= len(held_out)
    seen = training.last_step - min(training.first_step, held_out.first_step) + 1
    return enough and seen >= COVERED * (held_out.last_step - min(training.first_step, held_out.first_step) + 1)


def loss_to_fall(run: Run, fewest: int) -> Series:
    """The finite readings of the judged loss, at least `fewest`, of a run whose loss should fall."""
    return _to_fall(run, judged_loss(run), fewest)


def training_loss_to_fall(run: Run, fewest: int) -> Series:
    """The same for the training loss only."""
    series = training_loss(run)
    if not series:
        raise NotEnough("loss")
    return _to_fall(run, series, fewest)


def _to_fall(run: Run, series: Series, fewest: int) -> Series:
    finite = series.finite()
    if is_surrogate(run):
        raise NotEnough("a loss that is meant to fall; this one is not")
    if len(run.owners("loss")) > 1:  # two optimizers with a loss each: a game, in which one's gain is the other's loss
        raise NotEnough("a loss that should fall; this run has players with a loss each")
    if len(finite) < fewest:
        raise NotEnough(f"{fewest} readings of {series.key}, has {len(finite)}")
    return finite


def loss_without_floor(run: Run, fewest: int) -> Series:
    """A loss that should fall, or a critic's score, which may but not for ever."""
    if run.config.get("objective") != SCORE:
        return loss_to_fall(run, fewest)
    finite = judged_loss(run).finite()
    if len(finite) < fewest:
        raise NotEnough(f"{fewest} readings of {finite.key}, has {len(finite)}")
    return finite


def meant_to_fall(run: Run) -> bool:
    """Whether the level of the loss says how well the run goes."""
    return not is_surrogate(run) and len(run.owners("loss")) <= 1


def require_meant_to_fall(run: Run) -> None:
    """For rules that judge by the fate of the loss."""
    if not meant_to_fall(run):
        raise NotEnough("a loss that is meant to fall; this one is not")


def called(series: Series) -> str:
    """What a sentence calls it: `loss` for the training loss, its key otherwise."""
    return "loss" if series.vital == "loss" else series.key


def is_surrogate(run: Run) -> bool:
    """True where the loss is not meant to fall: the user says so, it is one of reinforcement learning, or a score."""
    said = run.config.get("loss_falls")
    if isinstance(said, bool):
        return not said
    if rising_weight(run) and untouched_part(run, "train") is None:
        return True  # the total rises with the weight of one of its terms
    if run.config.get("objective") in ("reward", SCORE) or _has_surrogate_signs(tuple(run.vitals)) or is_opposed(run):
        return True
    return any(_TASK_DONE.search(vital) for vital in run.vitals) and bool((run.loss.finite().values < 0).any())


def is_opposed(run: Run) -> bool:
    """Whether the loss asks another network, which learns too, to give one and the same answer to everything: that of a
    generator whose critic pushes back. Alone, any network would be told so in a few steps."""
    others = [event.data for event in run.events_of("foreign_leaves") if not event.data["names"]]
    asked = [event.data for event in run.events_of("target_range") if event.data["function"].startswith("binary")]
    constant = bool(asked) and all(each["least"] == each["most"] for each in asked)
    return constant and any(each["size"] >= OPPONENT * each["model_size"] for each in others)


def is_reward(vital: str) -> bool:
    """Whether a metric is what an agent gets: a reward, a return, a share of tasks done."""
    name = vital.rsplit("/", 1)[-1].lower().replace(" ", "_")
    return bool(_REWARD.search(name) or _TASK_DONE.search(name))


@lru_cache(maxsize=4)  # a dozen rules ask about the same run
def _has_surrogate_signs(vitals: tuple[str, ...]) -> bool:
    names = [vital.rsplit("/", 1)[-1].lower().replace(" ", "_") for vital in vitals]
    return any(name in SURROGATE_SIGNS or _REWARD.search(name) for name in names)
