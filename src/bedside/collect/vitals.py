"""The collectors, one line each: what a watched run records besides losses, gradients and updates."""

from __future__ import annotations

from bedside.collect.collector import Collector

COLLECTORS: tuple[type[Collector], ...] = ()
