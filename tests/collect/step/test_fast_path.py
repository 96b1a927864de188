"""Fast-path steps give the same numbers, change nothing, and end when anything unusual happens."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.watched import recorded
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.collect.hooks.call_slot import SLOT as CALL_SLOT
from bedside.collect.reading import device_queue
from bedside.collect.sampling import budget as budget_module
from bedside.collect.sampling import flush_timing
from bedside.collect.step import fast_path as fast_path_module
from bedside.collect.step.loss import LEARNING_BACKWARDS
from bedside.record.sqlite.reader import open_run

STEPS = 160  # the first thirty are observed, until it is known which backward is a step's


@pytest.fixture(autouse=True)
def full_recording_ends_after_the_first_steps(monkeypatch):
    monkeypatch.setattr(budget_module, "FULL_RECORDING_SHARE", 0.0)
    monkeypatch.setattr(budget_module, "QUICK_STEP_SECONDS", 0.0)


class Loop:
    """A plain training loop, watched with a budget that pays for nothing."""

    def __init__(self, folder, *, budget=1e-9, clip=None, kind="mlp", set_to_none=True, **options):
        torch.manual_seed(3)
        self.case, self.clip, self.set_to_none = CASES[kind], clip, set_to_none
        self.model = self.case.model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: 1 / (1 + s))
        self.monitor = bedside.watch(self.model, self.optimizer, run_dir=folder, quiet=True, budget=budget, **options)
        self.folder, self.losses, self.rates, self.norms, self.fast_path = folder, [], [], [], []

    def step(self, factor=1.0):
        inputs, targets = self.case.batch()
        self.optimizer.zero_grad(set_to_none=self.set_to_none)
        loss = F.cross_entropy(self.model(inputs), targets) * factor
        loss.backward()
        self.losses.append(loss.item())
        self.rates.append(self.optimizer.param_groups[0]["lr"])
        if self.clip is not None:
            self.norms.append(nn.utils.clip_grad_norm_(self.model.parameters(), self.clip).item())
        self.fast_path.append(self.monitor.dispatcher.fast_path.active)
        self.optimizer.step()
        self.schedule.step()

    def run(self, steps=STEPS):
        for _ in range(steps):
            self.step()
        return self

    def recorded(self):
        return recorded(self.monitor)


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("set_to_none", [True, False])
def test_quiet_steps_are_recorded_with_the_same_numbers(clip, set_to_none, tmp_path):
    loop = Loop(tmp_path / "run", clip=clip, set_to_none=set_to_none).run()
    assert sum(loop.fast_path) > 40, "most steps after the first hundred are quiet"
    run = loop.recorded()
    every = list(range(STEPS))
    for vital, expected in (("loss", loop.losses), ("lr", loop.rates)):
        assert run.series(vital).steps.tolist() == every
        np.testing.assert_allclose(run.series(vital).values, expected, rtol=1e-6)
    assert run.series("step_time").steps.tolist() == every[1:]
    assert (run.series("step_time").values > 0).all()
    assert set(run.series("micro_batches").values) == {1.0}
    assert set(run.series("grads_not_zeroed").values) == {0.0}
    if clip is not None:
        assert run.series("grad_norm").steps.tolist() == every
        np.testing.assert_allclose(run.series("grad_norm").values, loop.norms, rtol=1e-5)
        np.testing.assert_allclose(run.series("grad_clip_ratio").values, np.asarray(loop.norms) / clip, rtol=1e-5)


@pytest.mark.parametrize("kind", ["mlp", "conv", "gpt"])
def test_weights_are_bitwise_equal_with_and_without_quiet_steps(kind, tmp_path):
    quiet = Loop(tmp_path / "quiet", kind=kind, clip=1.0).run(130)
    attentive = Loop(tmp_path / "attentive", kind=kind, clip=1.0, budget=None).run(130)
    assert any(quiet.fast_path)
    assert not any(attentive.fast_path)
    for one, other in zip(quiet.model.state_dict().values(), attentive.model.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    quiet.monitor.close()
    attentive.monitor.close()


def test_a_loss_that_is_not_finite_wakes_and_its_origin_is_sought(tmp_path):
    loop = Loop(tmp_path / "run").run()
    assert loop.fast_path[-1]
    loop.step(factor=math.inf)
    assert not loop.monitor.dispatcher.fast_path.active or loop.monitor.step > STEPS
    run = loop.recorded()
    assert run.loss.last == math.inf
    origin = run.events_of("origin")
    assert [event.step for event in origin] == [STEPS]


def test_several_backwards_at_a_quiet_step_are_all_heard(tmp_path):
    loop = Loop(tmp_path / "run").run()
    assert loop.fast_path[-1]
    losses = []
    loop.optimizer.zero_grad()
    for _ in range(3):
        inputs, targets = loop.case.batch()
        loss = F.cross_entropy(loop.model(inputs), targets)
        loss.backward()
        losses.append(loss.item())
    loop.optimizer.step()
    run = loop.recorded()
    assert run.series("micro_batches").last == 3
    assert run.loss.last == pytest.approx(sum(losses) / 3, rel=1e-6)


def test_another_models_backward_is_not_ours_at_quiet_steps_either(tmp_path):
    loop = Loop(tmp_path / "run").run()
    stranger = CASES["mlp"].model()
    for _ in range(5):
        inputs, targets = loop.case.batch()
        (1000 * F.cross_entropy(stranger(inputs), targets)).backward()
        loop.step()
    run = loop.recorded()
    np.testing.assert_allclose(run.loss.values, loop.losses, rtol=1e-6)


def test_an_evaluation_at_quiet_steps_is_heard(tmp_path):
    loop = Loop(tmp_path / "run").run()
    with torch.no_grad():  # in training mode, which is the mistake
        loop.model(loop.case.batch()[0])
    loop.monitor.log(val_loss=1.0)
    assert not loop.monitor.dispatcher.fast_path.active
    loop.run(3)
    assert loop.recorded().events_of("validation_in_train_mode")


def test_a_step_without_a_backward_is_noticed_among_quiet_ones(tmp_path):
    loop = Loop(tmp_path / "run").run()
    loop.optimizer.zero_grad()
    loop.optimizer.step()
    assert loop.recorded().events_of("empty_step")


def test_gradients_that_are_not_cleared_any_more_are_noticed_among_quiet_steps(tmp_path):
    loop = Loop(tmp_path / "run").run(101 + fast_path_module.CHECK_INTERVAL)
    assert loop.fast_path[-1]
    loop.optimizer.zero_grad = lambda **_: None  # the line is gone
    loop.run(5)
    found = loop.recorded().series("grads_not_zeroed")
    gone = 101 + fast_path_module.CHECK_INTERVAL
    assert found.steps[found.values == 0.0].max() == gone - 1
    assert found.steps[found.values == 1.0].tolist() == list(range(gone + 1, gone + 5)), "known from the second on"


def test_gradients_that_are_no_longer_zeroed_in_place_are_noticed_at_once(tmp_path):
    loop = Loop(tmp_path / "run", set_to_none=False).run(120)
    assert loop.fast_path[-1]
    loop.optimizer.zero_grad = lambda **_: None  # the line is gone
    loop.run(5)
    found = loop.recorded().series("grads_not_zeroed")
    assert found.steps[found.values == 1.0].tolist() == list(range(120, 125))


def test_a_backward_of_another_model_alone_is_never_taken_for_ours(tmp_path):
    loop = Loop(tmp_path / "run").run(120)
    other = nn.Linear(2, 2)
    for _ in range(20):
        loop.optimizer.zero_grad()
        (other(torch.ones(1, 2)).sum() * 0 + 1e6).backward()
        loop.optimizer.step()
        loop.step()
    assert loop.recorded().loss.finite().values.max() < 1e5


def test_one_quiet_step_in_sixteen_is_timed_however_short_the_stretches_are(tmp_path, monkeypatch):
    monkeypatch.setattr(flush_timing, "MAX_SECONDS", 0.0)
    loop, timed, stretches = Loop(tmp_path / "run"), 0, 0
    for _ in range(LEARNING_BACKWARDS + 5 * fast_path_module.CHECK_INTERVAL):
        fast_path_control, before = (
            loop.monitor.dispatcher.fast_path._timed and loop.monitor.dispatcher.fast_path.active,
            len(loop.monitor.dispatcher.fast_path),
        )
        loop.step()
        timed += fast_path_control
        stretches += loop.fast_path[-1] and before == 0
    assert stretches > 4 * fast_path_module.CHECK_INTERVAL, "rows are written after every step"
    assert 3 <= timed <= 5
    loop.recorded()


def test_after_one_step_that_failed_others_are_quiet_again(tmp_path):
    loop = Loop(tmp_path / "run", set_to_none=False).run()

    def fail(*_):
        handle.remove()
        raise RuntimeError("out of luck")

    handle = loop.optimizer.register_step_pre_hook(fail)
    loop.monitor.dispatcher.leave_fast_path()  # so that it is observed
    with pytest.raises(RuntimeError, match="out of luck"):
        loop.step()
    loop.run(5)
    assert loop.fast_path[-1]
    micro_batches = loop.recorded().series("micro_batches").values.tolist()
    assert micro_batches == [1.0] * (STEPS + 5), "gradients that were zeroed in place are no micro-batch"


def test_a_second_monitor_ends_the_quiet_steps_of_the_first(tmp_path):
    loop = Loop(tmp_path / "run").run()
    other = CASES["mlp"].model()
    with bedside.watch(other, torch.optim.SGD(other.parameters(), lr=0.1), run_dir=tmp_path / "other", quiet=True):
        loop.run(5)
        assert not any(loop.fast_path[-5:])
    np.testing.assert_allclose(loop.recorded().loss.values, loop.losses, rtol=1e-6)


def test_schedulers_are_counted_over_quiet_steps(tmp_path):
    run = Loop(tmp_path / "run").run().recorded()
    (facts,) = run.config["schedulers"]
    assert facts["optimizer_steps"] == STEPS
    assert facts["stepped"] == STEPS


def test_accumulation_and_tensor_rates_are_never_quiet(tmp_path):
    torch.manual_seed(0)
    case = CASES["mlp"]
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(1e-3), foreach=False)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=1e-9)
    for _ in range(130):
        inputs, targets = case.batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        assert not monitor.dispatcher.fast_path.active
        optimizer.step()
    monitor.close()


def test_as_if_on_a_device_one_transfer_serves_twenty_steps_or_more(tmp_path, monkeypatch):
    monkeypatch.setattr(device_queue, "on_cpu", lambda tensor: False)
    unloads = []
    original = device_queue.DeviceQueue.transfer

    def transfer(self):
        if self.full:
            unloads.append(1)
        return original(self)

    monkeypatch.setattr(device_queue.DeviceQueue, "transfer", transfer)
    loop = Loop(tmp_path / "run", clip=1.0)
    for _ in range(STEPS):  # `Loop.step` reads the loss itself; what counts is what bedside fetches
        loop.step()
    run = loop.recorded()
    assert len(unloads) <= 0.05 * STEPS + 2, "one more for closing, and one for the first look"
    np.testing.assert_allclose(run.loss.values, loop.losses, rtol=1e-6)


def test_with_the_loss_alone_nearly_every_step_is_quiet(tmp_path):
    loop = Loop(tmp_path / "run", vitals=["loss"]).run()
    assert sum(loop.fast_path) > 40
    run = loop.recorded()
    assert not run.has("grad_norm")
    np.testing.assert_allclose(run.loss.values, loop.losses, rtol=1e-6)


def test_what_is_due_among_quiet_steps_is_read(tmp_path):
    loop = Loop(tmp_path / "run").run(510)
    assert sum(loop.fast_path) > 350
    run = loop.recorded()
    sampled = [int(step) for step in run.series("update_norm").steps if step > 100]
    assert 500 in sampled
    assert set(sampled) <= {s for s in range(101, 510) if s % 50 == 0}, "by the step number: 500, or 50 after an alarm"
    for vital in ("grad_norm", "param_norm", "input_rms", "activation_rms"):
        assert any(500 in series.steps for series in [run.series(vital), *run.of(vital)]), vital


def test_without_a_budget_every_step_is_read_in_full(tmp_path):
    run = Loop(tmp_path / "run", budget=None).run(120).recorded()
    for vital in ("grad_norm", "update_norm", "input_rms"):
        assert run.series(vital).steps.tolist() == list(range(120)), vital


def test_copies_that_are_made_at_quiet_steps_are_nobodys_patients(tmp_path):
    loop = Loop(tmp_path / "run").run()
    assert loop.fast_path[-1]
    assert CALL_SLOT in vars(loop.model), "forwards are noticed without a hook"
    torch.save(loop.model, tmp_path / "model.pt")
    copies = [copy.deepcopy(loop.model), torch.load(tmp_path / "model.pt", weights_only=False)]
    inputs, _ = loop.case.batch()
    for each in copies:
        assert CALL_SLOT not in vars(each)
        outputs = []
        for model in (each, loop.model):
            torch.manual_seed(0)  # of the dropout
            outputs.append(model(inputs))
        assert torch.equal(*outputs)
    loop.recorded()
    assert CALL_SLOT not in vars(loop.model)
    assert not loop.model._forward_pre_hooks


def test_a_copy_that_shares_everything_is_called_itself(tmp_path):
    loop = Loop(tmp_path / "run")
    copied = type(loop.model).__new__(type(loop.model))
    copied.__dict__ = loop.model.__dict__.copy()  # as nn.DataParallel does at every step
    loop.model = copied
    loop.run()
    assert loop.fast_path[-1]
    copied._modules = {name: copy.deepcopy(module) for name, module in copied._modules.items()}
    for parameter in copied.parameters():
        parameter.data.zero_()
    assert not copied(loop.case.batch()[0]).any(), "the copy is called, not the module that was watched"
    loop.recorded()


def test_a_second_monitor_of_a_quiet_model_does_not_take_it_for_compiled(tmp_path):
    loop = Loop(tmp_path / "run").run()
    assert CALL_SLOT in vars(loop.model)
    with bedside.watch(loop.model, loop.optimizer, run_dir=tmp_path / "second", quiet=True) as second:
        assert not second._forward_hooks.compiled
        loop.run(3)
    assert open_run(tmp_path / "second").series("activation_rms", "0") is not None
    loop.recorded()


def test_steps_with_a_closure_are_never_quiet(tmp_path):
    torch.manual_seed(0)
    model = CASES["mlp"].model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=1e-9) as monitor:
        for _ in range(120):
            inputs, targets = CASES["mlp"].batch()

            def closure(inputs=inputs, targets=targets):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), targets)
                loss.backward()
                return loss

            optimizer.step(closure)
            assert not monitor.dispatcher.fast_path.active
    assert len(open_run(tmp_path / "run").loss) == 120


class Frugal(torch.optim.Optimizer):
    """Lets go of the gradients as soon as they are used."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 1e-2})

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            p -= self.param_groups[0]["lr"] * p.grad
            p.grad = None


def test_an_optimizer_that_lets_go_of_its_gradients_takes_no_empty_steps(tmp_path):
    torch.manual_seed(0)
    case = CASES["mlp"]
    model = case.model()
    optimizer = Frugal(model.parameters())
    quiet = []
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, budget=1e-9) as monitor:
        for _ in range(130):
            inputs, targets = case.batch()
            F.cross_entropy(model(inputs), targets).backward()
            quiet.append(monitor.dispatcher.fast_path.active)
            optimizer.step()
    assert sum(quiet) > 20
    run = open_run(tmp_path / "run")
    assert not run.events_of("empty_step")
    assert len(run.loss) == 130


def test_what_ends_a_stretch_is_counted_once(tmp_path, monkeypatch):
    loop = Loop(tmp_path / "run").run()
    assert loop.fast_path[-1]
    monitor, now = loop.monitor, [1000.0]
    leave_fast_path = monitor.dispatcher.fast_path_control.leave_fast_path

    def slowly():
        leave_fast_path()
        now[0] += 10.0

    monkeypatch.setattr(monitor.dispatcher.fast_path_control, "leave_fast_path", slowly)
    monkeypatch.setattr(monitor.dispatcher, "_between_steps", lambda step: None)
    before = monitor.dispatcher.budget.total + monitor.dispatcher.fast_path.spent
    with monkeypatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: now[0])
        monitor.dispatcher._fast_path_ended()
    assert monitor.dispatcher.budget.total == pytest.approx(before + 10.0)
    loop.recorded()


def test_what_was_heard_before_the_monitor_switched_itself_off_is_kept(tmp_path):
    loop = Loop(tmp_path / "run").run()
    assert len(loop.monitor.dispatcher.fast_path), "some of it waits"

    def fail(*_):
        raise ZeroDivisionError

    loop.monitor._losses.before = fail
    loop.monitor.dispatcher.leave_fast_path()
    with pytest.warns(RuntimeWarning, match=f"stopped listening at step {STEPS}"):
        loop.step()
    loop.run(5)
    assert open_run(loop.folder).loss.steps.tolist() == list(range(STEPS)), "also if nobody closes it"
    loop.monitor.close()
    assert len(open_run(loop.folder).loss) == STEPS
