"""Thin callbacks that drive `bedside.watch` in other people's training loops, one file per framework.

Whatever a framework does with losses, clipping and accumulation ends in torch's own functions, where `watch` sees it.
So all that a callback does is to call `watch` when model and optimizers exist, to hand over validation metrics and
epochs, and to close the monitor at the end, also after an exception.
"""
