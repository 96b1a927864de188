from bedside.finding import NotExamined, Severity
from bedside.record.run import Event, Parameter
from bedside.rules.silent_parameter import silent_parameter
from bedside.testing import a_run


def parameter(name, gradient_steps, *, watched=200, trainable=True, owner=None):
    return Parameter(
        name, owner or name.rpartition(".")[0], 64, gradient_steps=gradient_steps, watched_steps=watched,
        trainable=trainable,
    )  # fmt: skip


def check(*parameters):
    return silent_parameter.check(a_run(loss=[2.0] * 200, parameters=parameters))


def test_speaks_when_a_module_never_gets_a_gradient():
    [found] = check(parameter("front.weight", 0), parameter("front.bias", 0), parameter("head.weight", 200))
    assert found.where == ("front",)
    assert "200 steps" in found.message
    assert 'get_submodule("front")' in found.try_[1]


def test_names_the_container_when_all_of_it_is_silent():
    [found] = check(
        parameter("layers.0.a.weight", 0), parameter("layers.0.b.weight", 0), parameter("layers.1.a.weight", 200)
    )
    assert found.where == ("layers.0",)


def test_names_the_parameter_when_the_rest_of_its_module_learns():
    [found] = check(parameter("head.bias", 200), parameter("head.weight", 0))
    assert found.where == ("head.weight",)
    assert found.severity == Severity.WARNING
    assert 'get_parameter("head.weight")' in found.try_[1]


def test_is_a_note_about_a_bias_alone_which_a_loss_of_derivatives_does_not_feel():
    [found] = check(parameter("head.weight", 200), parameter("head.bias", 0))
    assert found.severity == Severity.NOTE
    [found] = check(parameter("head.weight", 200), parameter("head.bias", 0), parameter("front.weight", 0))
    assert found.severity == Severity.WARNING


def test_stays_silent_when_every_parameter_gets_a_gradient():
    assert not check(parameter("front.weight", 200), parameter("head.weight", 3))


def test_stays_silent_about_frozen_parameters():
    assert not check(parameter("front.weight", 0, trainable=False), parameter("head.weight", 200))


def test_stays_silent_when_nobody_gets_a_gradient_because_that_is_another_fault():
    assert not check(parameter("front.weight", 0), parameter("head.weight", 0))


def test_says_so_when_the_run_is_too_short_or_was_not_watched():
    short = a_run(loss=[1.0], parameters=[parameter("a.weight", 0, watched=3)])
    assert isinstance(silent_parameter.examine(short), NotExamined)
    assert isinstance(silent_parameter.examine(a_run(loss=[1.0, 2.0])), NotExamined)


def test_speaks_sooner_about_a_module_that_every_batch_goes_through():
    parameters = parameter("front.weight", 0, watched=24), parameter("head.weight", 24, watched=24)
    seen = {"front": [0.5] * 24, "head": [0.5] * 24}
    [found] = silent_parameter.check(a_run(loss=[2.0] * 24, parameters=parameters, activation_rms=seen))
    assert found.where == ("front",)


def test_waits_for_a_branch_that_only_some_batches_use():
    parameters = parameter("branch.weight", 0, watched=24), parameter("head.weight", 24, watched=24)
    for seen in ({"head": [0.5] * 24}, {"branch": [0.5] * 3, "head": [0.5] * 24}):
        assert not silent_parameter.check(a_run(loss=[2.0] * 24, parameters=parameters, activation_rms=seen))


def test_speaks_when_one_parameter_of_a_living_module_has_a_gradient_of_zero():
    cell = [Parameter(f"cell.{name}", "cell", 64, gradient_steps=90, watched_steps=90) for name in ("w_ih", "w_hh")]
    zero = Event(19, "zero_gradients", {"names": ["cell.w_hh"], "looks": 20})
    [found] = silent_parameter.check(a_run(loss=[1.0] * 90, parameters=cell, events=[zero]))
    assert found.where == ("cell.w_hh",)
    assert "exactly zero" in found.message


def test_stays_silent_when_it_woke_up_later():
    cell = [Parameter("cell.w_hh", "cell", 64, gradient_steps=90, watched_steps=90)]
    reported = [Event(19, "zero_gradients", {"names": ["cell.w_hh"], "looks": 20})]
    reported += [Event(49, "zero_gradients", {"names": [], "looks": 50})]
    assert not silent_parameter.check(a_run(loss=[1.0] * 90, parameters=cell, events=reported))


def test_only_recurrent_weights_are_told_to_carry_a_state_on():
    for name, carried in (("rnn.weight_hh_l0", True), ("cell.weight_hh", True), ("gate.weight", False)):
        looked = Event(100, "zero_gradients", {"names": [name], "looks": 40})
        [found] = silent_parameter.check(a_run(loss=2.0, parameters=[parameter(name, 200)], events=[looked]))
        assert any("Carry the state on" in each for each in found.try_) is carried
