"""Which numbers trackers get, and under which names: those of `run.keys()`, which practitioners already plot.

>>> tracker_name("loss", ""), tracker_name("grad_norm", ""), tracker_name("grad_norm", "layers.0")
('train/loss', 'grad_norm/overall', 'grad_norm/layers.0')
>>> tracker_name("activation_rms", "encoder"), tracker_name("batch_fingerprint", "")
('activation/rms/encoder', None)
"""

from __future__ import annotations

from bedside.record.series_names import PUBLIC_VITALS, name_of

SPLITS = ("train/", "val/", "test/")
PLOTTED = frozenset(PUBLIC_VITALS) | frozenset(
    """lr grad_norm grad_norm_clipped grad_clip_ratio clip_threshold param_norm update_norm relative_update_norm
    effective_lr_ratio loss_by_category loss_scale skipped step_time attention_entropy dead_fraction epoch
    gradient_cosine gradient_noise nonfinite_grads nonfinite_params""".split()
)


def tracker_name(vital: str, owner: str, logged: bool = False) -> str | None:
    """The name in a tracker; None for what only the rules need. Whatever the user `logged` is always sent."""
    return name_of((vital, owner)) if vital in PLOTTED or vital.startswith(SPLITS) or logged else None
