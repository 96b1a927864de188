"""The public entry point: `monitor = bedside.watch(model, optimizer)`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from bedside.collect.hooks.called_modules import unwrapped
from bedside.collect.model.mode_dependent import dropout_rates
from bedside.collect.model.optimizer_coverage import parameter_counts
from bedside.collect.reading.norm_rows import BY_PARAMETER, GRADIENTS, MOVES
from bedside.collect.vitals import COLLECTORS
from bedside.collect.vitals.tensor_histograms import Histograms
from bedside.errors import BadModel, BadOption, BedsideError, unknown_name
from bedside.finding import Finding
from bedside.incident.black_box import BlackBox
from bedside.incident.incidents import Incidents, incidents_of
from bedside.monitor import ranks
from bedside.monitor.live_page import check_live_page, start_live_page
from bedside.monitor.monitor import Monitor, monitors
from bedside.monitor.resuming import next_step, open_store, optimizer_steps
from bedside.record.environment import environment
from bedside.record.sqlite.writer import Store
from bedside.record.vocabulary import VITALS
from bedside.settings import settings_for
from bedside.sinks.sink import Sink
from bedside.stderr import say

NEEDS_GRADIENTS = {vital for vital, _ in GRADIENTS} | {BY_PARAMETER[0]}
MAX_WRAPPERS = 10  # around an optimizer: one that wraps itself would have no end
NEEDS_UPDATES = {vital for vital, _ in MOVES} | set(BY_PARAMETER[1:])


def watch(
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer],
    *,
    run_dir: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    step: int | None = None,
    vitals: Sequence[str] | None = None,
    budget: float | None = 0.01,
    histograms: bool = False,
    by_parameter: bool = False,
    loss_falls: bool = True,
    on_finding: Callable[[Finding], None] | None = None,
    config: Mapping[str, Any] | None = None,
    quiet: bool = False,
    sinks: Sequence[Sink] = (),
    serve: bool = False,
    black_box: bool | BlackBox | None = None,
    on_nan: str = "report",
    skip_spikes: float | None = None,
    probes: bool = True,
) -> Monitor:
    """Watch a model train. This one line is all a loop needs.

    Args:
        model: The model, wrapped (DDP, torch.compile) or not.
        optimizer: Its optimizer, or several (a GAN has two).
        run_dir: A new or empty folder for the record; by default one under `bedside-runs/`.
        resume: The folder of an earlier run to continue, on the same step axis. Load the checkpoint first.
        step: The number of the step that comes next. By default 0; after a resume what the optimizer has counted, or
            else the step after the last that was recorded.
        vitals: Record only these (see docs/vitals.md); by default everything.
        budget: The share of the step time that watching may take after the first steps, which are recorded in full.
            None records everything at every step.
        histograms: Keep histograms of weights, gradients and outputs too, every hundred steps or as the budget allows;
            `bedside.record.histograms` reads them back.
        by_parameter: Record the norms of single parameter tensors too (`lstm.weight_hh_l0`), not only of modules.
        loss_falls: False if the loss is not meant to fall (policy gradients, adversarial losses): nothing is then
            concluded from a loss that does not.
        on_finding: Called with each Finding when it begins, besides the line on stderr.
        config: What else should be known about the run: batch size, data set, number of classes.
        quiet: No alarms on stderr and no report at the end.
        sinks: Trackers that get the numbers and findings as well: `bedside.sinks.TensorBoard("runs/a")` and others.
        serve: Start the live page of this run in a process of its own, and print its address; it ends with the program.
            Needs the extra `live`.
        black_box: Keep the step that goes wrong (NaN, a spike, an exception) so that `bedside replay` can run it again;
            True, or `bedside.incident.BlackBox(max_bytes=…, keep=…, redact=…)`. Holds the micro-batches of one step in
            memory. Needs the extra `incident`.
        on_nan: What to do before a step whose gradients are not finite: "report" it, "skip" it (weights and optimizer
            stay as they are, training goes on), "stop" the program, or "raise" `bedside.incident.NonFiniteStep`.
        skip_spikes: Skip steps whose loss or gradient norm is beyond its median by more than this multiple of its own
            spread; 6 is usual. The first 50 steps are exempt.
        probes: Run the few trials that need a forward of their own (does the model see the future, do samples mix) on a
            copy of the model. With False, what they would show is reported as not examined.

    Returns:
        The Monitor. Use it as a context manager, call `close()`, or let the program end.
    """
    monitor: Monitor | None = None
    try:
        if serve:
            check_live_page()
        incidents = incidents_of(black_box, on_nan, skip_spikes)
        monitor = _watch(
            model,
            optimizer,
            run_dir,
            resume,
            step,
            vitals,
            budget,
            histograms,
            by_parameter,
            loss_falls,
            on_finding,
            config,
            quiet,
            sinks,
            incidents,
            probes,
        )
        if serve and ranks.rank() == 0:
            start_live_page(monitor.run_dir)
        return monitor
    except BedsideError as error:
        raise error.with_call("monitor = bedside.watch(model, optimizer)") from None
    except BaseException:
        if monitor is not None:  # the caller will never have it, so nobody else could close it
            monitor.close(finished=None)
        raise


def _watch(
    model: Any,
    optimizer: Any,
    run_dir: Any,
    resume: Any,
    step: int | None,
    vitals: Sequence[str] | None,
    budget: float | None,
    histograms: bool,
    by_parameter: bool,
    loss_falls: bool,
    on_finding: Callable[[Finding], None] | None,
    config: Mapping[str, Any] | None,
    quiet: bool,
    sinks: Sequence[Sink],
    incidents: Incidents | None,
    probes: bool,
) -> Monitor:
    optimizers = _optimizers(optimizer)
    _check_sinks(sinks)
    _check_model(model)
    _check_budget(budget)
    _check_step(step)
    _check_flags(by_parameter=by_parameter, loss_falls=loss_falls)
    wanted = _wanted(vitals)
    settings = settings_for(*[place for place in (run_dir, resume) if place is not None])
    rank = ranks.rank()
    if run_dir is not None and resume is not None:
        raise BadOption(
            f"Both run_dir={os.fspath(run_dir)!r} and resume={os.fspath(resume)!r} were given.",
            expected="run_dir= for a new run, or resume= to continue an old one",
            try_=f"bedside.watch(model, optimizer, resume={os.fspath(resume)!r})",
        )
    _close_older(model, quiet)
    folder = Path(resume or run_dir or ranks.new_folder())
    again = resume is not None or ranks.restarted(folder, rank)
    store = open_store(folder, rank, asked=resume is not None) if again else Store.create(folder, rank)
    try:
        if step is None and again:
            step = next_step(store.path.parent, optimizers[0])
        store.environment(environment(device=_device(model), seed=torch.initial_seed()))
        return Monitor(
            model,
            optimizers,
            store,
            rank=rank,
            first_step=step,
            config={
                **_known_about(model, optimizers, again),
                **({} if loss_falls else {"loss_falls": False}),
                **(config or {}),
            },
            collectors=[each for each in COLLECTORS if wanted is None or wanted & set(each.vitals)]
            + [Histograms] * bool(histograms),
            gradients=wanted is None or bool(wanted & (NEEDS_GRADIENTS | NEEDS_UPDATES)),
            updates=wanted is None or bool(wanted & NEEDS_UPDATES),
            by_parameter=by_parameter or bool(wanted and wanted & set(BY_PARAMETER)),
            budget=budget,
            on_finding=on_finding,
            quiet=quiet,
            settings=settings,
            sinks=sinks,
            incidents=incidents,
            probes=probes,
        )
    except BaseException:  # what cannot be watched must not leave a folder that refuses the next attempt
        store.close(finished=False) if again else store.discard()
        raise


def _close_older(model: nn.Module, quiet: bool) -> None:
    """One monitor per model: when a notebook cell is run again, the new monitor replaces the old one."""
    for older in monitors():
        if unwrapped(older.model) is unwrapped(model):
            older.close_for_another()
            if not quiet:
                say(f"bedside: this model is being watched by a new monitor; the record in {older.run_dir} is closed.")


def _optimizers(optimizer: Any) -> list[Optimizer]:
    given = list(optimizer) if isinstance(optimizer, list | tuple) else [optimizer]
    unwrapped = [_unwrapped(each) for each in given]
    for each in unwrapped:
        if not isinstance(each, Optimizer):
            raise BadModel(
                f"{type(each).__name__} is not an optimizer.",
                expected="a torch.optim.Optimizer, or a list of them",
                try_="bedside.watch(model, torch.optim.AdamW(model.parameters()))",
            )
    if not unwrapped:
        raise BadModel("The list of optimizers is empty.", expected="a torch.optim.Optimizer, or a list of them")
    return unwrapped


def _unwrapped(optimizer: Any) -> Any:
    """The real optimizer, whose hooks fire: Accelerate and others wrap it, and some wrappers have no hooks or hand out
    those of the real one as if they were theirs."""
    for _ in range(MAX_WRAPPERS):
        hooked = isinstance(optimizer, Optimizer) and "_optimizer_step_post_hooks" in vars(optimizer)
        if hooked or not hasattr(optimizer, "optimizer"):
            break
        optimizer = optimizer.optimizer
    return optimizer


def _check_sinks(sinks: Any) -> None:
    for each in sinks:
        if not isinstance(each, Sink):
            raise BadOption(
                f"{type(each).__name__} is not a sink.",
                expected="sinks of bedside.sinks: TensorBoard, WandB, MLflow, Comet, JsonLines, Csv",
                try_="bedside.watch(model, optimizer, sinks=[bedside.sinks.TensorBoard(writer=writer)])",
            )


def _check_model(model: Any) -> None:
    if not isinstance(model, nn.Module):
        raise BadModel(f"{type(model).__name__} is not a model.", expected="a torch.nn.Module")
    if not any(p.requires_grad for p in model.parameters()):
        count = sum(1 for _ in model.parameters())
        raise BadModel(
            f"{type(model).__name__} has no trainable parameters ({count} in all).",
            expected="at least one parameter with requires_grad=True",
            try_="model.requires_grad_(True) before bedside.watch(model, optimizer)",
        )


def _check_budget(budget: Any) -> None:
    if budget is not None and not (isinstance(budget, int | float) and 0 < budget < 1):
        raise BadOption(
            f"budget={budget!r} is not a share of the step time.",
            expected="a number between 0 and 1, such as 0.01 for one per cent, or None for everything at every step",
            try_="bedside.watch(model, optimizer, budget=0.01)",
        )


def _check_step(step: Any) -> None:
    if step is not None and not (isinstance(step, int) and step >= 0):
        raise BadOption(
            f"step={step!r} is not the number of a step.",
            expected="a whole number from 0 on: how many steps were made before",
            try_="bedside.watch(model, optimizer, resume='runs/a', step=checkpoint['step'])",
        )


def _check_flags(**flags: Any) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise BadOption(
                f"{name}={value!r} is neither True nor False.",
                expected=f"{name}=True or {name}=False",
                try_=f"bedside.watch(model, optimizer, {name}={not _DEFAULTS[name]})",
            )


_DEFAULTS = {"by_parameter": False, "loss_falls": True}


def _wanted(vitals: Sequence[str] | None) -> set[str] | None:
    if vitals is None:
        return None
    for name in [vitals] if isinstance(vitals, str) else vitals:
        if name not in VITALS:
            raise unknown_name("vital", name, VITALS, try_='bedside.watch(model, optimizer, vitals=["grad_norm"])')
    return set([vitals] if isinstance(vitals, str) else vitals)


def _device(model: nn.Module) -> str:
    return str(next(model.parameters()).device)


def _known_about(model: nn.Module, optimizers: Sequence[Optimizer], again: bool) -> dict[str, Any]:
    plain = (bool, int, float, str)
    return {
        "model": type(unwrapped(model)).__name__,
        **({"optimizer_steps_before": counted} if (counted := optimizer_steps(optimizers[0])) and not again else {}),
        **parameter_counts(model),
        **({"dropout": rates} if (rates := dropout_rates(model)) else {}),
        "optimizers": [
            {
                "name": type(optimizer).__name__,
                **{key: value for key, value in optimizer.defaults.items() if isinstance(value, plain)},
                **_momentum(optimizer),
            }
            for optimizer in optimizers
        ],
    }


def _momentum(optimizer: Optimizer) -> dict[str, Any]:
    """Momentum and betas as the first group has them, which a script may have set after building the optimizer."""
    group = optimizer.param_groups[0] if optimizer.param_groups else {}
    found = {key: group[key] for key in ("momentum", "betas") if key in group}
    whole = {key: list(value) if isinstance(value, (tuple, list)) else [value] for key, value in found.items()}
    known = {key: value for key, value in whole.items() if all(isinstance(each, (int, float)) for each in value)}
    return {key: value if key == "betas" else value[0] for key, value in known.items()}
