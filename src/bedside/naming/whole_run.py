"""What only the whole run can say about its names: settled when a run is read, the same for logs and own records.

A run whose only evaluation is called test is judged by it. One whose only validation loss is the loss of something
(`val_recon_loss`) is judged by that, and one that logged only evaluation sets or perplexities by the loss they imply.
"""

from __future__ import annotations

from bedside.naming.implied_losses import with_implied_losses
from bedside.naming.metric_names import read_name
from bedside.record.run import Key, Run


def settle(run: Run) -> Run:
    """The run with these names settled; the run itself where there is nothing to settle."""
    renamed = _test_as_validation(run)
    notes = ["The only evaluation is called test: read as validation."] if renamed else []
    keys = [renamed.get(key, key) for key in run.series_keys]
    renamed |= _only_validation_loss(keys, {new: old for old, new in renamed.items()})
    return with_implied_losses(run.renamed(renamed, notes) if renamed else run)


def _test_as_validation(run: Run) -> dict[Key, Key]:
    keys = run.series_keys
    if any(vital.startswith("val/") for vital, _ in keys):
        return {}
    return {(vital, owner): (f"val/{vital[5:]}", owner) for vital, owner in keys if vital.startswith("test/")}


def _only_validation_loss(keys: list[Key], named_before: dict[Key, Key]) -> dict[Key, Key]:
    if any(vital == "val/loss" for vital, _ in keys):
        return {}
    losses = [key for key in keys if key[0].startswith("val/") and not key[1] and read_name(key[0]).kind == "loss"]
    return {named_before.get(losses[0], losses[0]): ("val/loss", "")} if len(losses) == 1 else {}
