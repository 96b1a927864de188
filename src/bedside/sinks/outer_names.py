"""The names under which numbers leave the house: those that practitioners already plot.

>>> outer_name("loss", ""), outer_name("grad_norm", ""), outer_name("grad_norm", "layers.0")
('train/loss', 'grad_norm/overall', 'grad_norm/layers.0')
>>> outer_name("activation_rms", "encoder"), outer_name("batch_fingerprint", "")
('activation/rms/encoder', None)
"""

from __future__ import annotations

SPLITS = ("train/", "val/", "test/")
RENAMED = {"loss": "train/loss", "loss_epoch": "train/loss_epoch"}
OVERALL = {"grad_norm": "grad_norm/overall"}
# As they are, with the module or group behind a slash.
AS_THEY_ARE = frozenset(
    """lr grad_norm grad_norm_clipped grad_clip_ratio clip_threshold param_norm update_norm relative_update_norm
    effective_lr_ratio loss_by_category loss_scale skipped step_time attention_entropy dead_fraction epoch
    gradient_cosine gradient_noise nonfinite_grads nonfinite_params""".split()
)
ACTIVATIONS = {
    "activation_mean": "activation/mean",
    "activation_rms": "activation/rms",
    "activation_max": "activation/max",
    "zero_fraction": "activation/zero_fraction",
    "saturated_fraction": "activation/saturated_fraction",
}


def outer_name(vital: str, owner: str, logged: bool = False) -> str | None:
    """The name outside; None for what only the rules need. Whatever the user `logged` keeps its name."""
    if vital in RENAMED:
        return f"{RENAMED[vital]}/{owner}" if owner else RENAMED[vital]
    if vital in OVERALL and not owner:
        return OVERALL[vital]
    name = ACTIVATIONS.get(vital, vital)
    if vital in AS_THEY_ARE or vital in ACTIVATIONS or vital.startswith(SPLITS) or logged:
        return f"{name}/{owner}" if owner else name
    return None
