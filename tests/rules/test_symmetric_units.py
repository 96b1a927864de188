from bedside.finding import Severity
from bedside.record.run import Event, Parameter
from bedside.rules.symmetric_units import symmetric_units
from bedside.testing import a_run


def check(units, samples=0.6, events=()):
    return symmetric_units.check(
        a_run(loss=2.0, unit_variation={"hidden": units}, batch_variation={"hidden": samples}, events=list(events))
    )


def test_speaks_when_all_units_do_the_same():
    [found] = check(1e-6)
    assert found.where == ("hidden",)


def test_stays_silent_when_units_part_after_the_first_steps():
    assert not check([1e-6] * 10 + [0.1] * 90)


def test_stays_silent_when_the_output_is_a_constant():
    assert not check(0.0, samples=0.0)


def test_stays_silent_on_attention_that_looks_everywhere_alike():
    assert not check(1e-6, events=[Event(0, "nonlinearities", {"hidden": "softmax"})])


def test_stays_silent_on_ordinary_layers():
    assert not check(0.9)


def nearly(loss):
    return symmetric_units.check(
        a_run(loss=loss, steps=100, unit_variation={"hidden": 0.04, "out": 0.4}, batch_variation={"hidden": 0.5})
    )


def test_warns_when_only_the_biases_tell_units_apart_and_little_is_learnt():
    [found] = nearly([2.3 - 0.004 * i for i in range(100)])
    assert (found.severity, found.where) == (Severity.WARNING, ("hidden",))


def test_stays_silent_when_a_run_with_units_nearly_alike_learns_all_the_same():
    assert not nearly([2.3 * 0.97**i for i in range(100)])


def test_stays_silent_where_outputs_begin_alike_or_are_answers():
    kinds = Event(0, "nonlinearities", {"gate": "sigmoid"})
    low = {"gate": 0.04, "answers": 0.04}
    run = a_run(loss=2.0, steps=100, unit_variation=low, batch_variation={"gate": 0.5, "answers": 0.5}, events=[kinds])
    assert not symmetric_units.check(run)


def first_steps(units):
    vitals = {"unit_variation": {"hidden": units, "out": 0.4}, "batch_variation": {"hidden": 0.5}}
    return symmetric_units.check(a_run(loss=2.0, steps=len(units), **vitals))


def test_warns_sooner_when_units_were_alike_from_the_first_reading_on():
    [found] = first_steps([0.02] * 25)
    assert found.severity == Severity.WARNING


def test_waits_when_the_first_steps_pass_a_stretch_of_units_nearly_alike():
    assert not first_steps([0.6] * 5 + [0.04] * 20)
    assert not first_steps([0.02] * 20 + [0.2] * 5)


def began(layers, loss=2.0):
    event = Event(0, "constant_weights", {"layers": layers})
    return symmetric_units.check(a_run(loss=loss, steps=100, unit_variation={"hidden": 0.5}, events=[event]))


def test_warns_when_the_weights_of_several_layers_began_as_one_number_each():
    [found] = began({"0": 0.01, "2": 0.01})
    assert (found.severity, found.where) == (Severity.WARNING, ("0", "2"))


def test_only_notes_it_where_the_run_learns_all_the_same():
    [found] = began({"0": 0.01, "2": 0.01}, loss=[2.0 * 0.97**k for k in range(100)])
    assert found.severity is Severity.NOTE


def test_one_such_layer_among_random_ones_is_no_harm():
    assert not began({"0": 0.01})


def test_speaks_when_all_weights_began_at_zero():
    layers = [Parameter("0.weight", "0", 64), Parameter("2.weight", "2", 64)]
    variation = {"0": 0.0, "2": 0.5}
    run = a_run(loss=[2.0] * 60, unit_variation=variation, config={"initial_param_norm": 0.0}, parameters=layers)
    [found] = symmetric_units.check(run)
    assert found.message.startswith("All weights began at zero")
    begun = a_run(loss=[2.0] * 60, unit_variation=variation, config={"initial_param_norm": 3.0}, parameters=layers)
    assert symmetric_units.check(begun) == []


def test_speaks_when_every_layer_began_at_zero_and_only_biases_are_random():
    event = Event(0, "constant_weights", {"layers": {"0": 0.0, "2": 0.0}, "all_zero": True})
    run = a_run(loss=[2.3 - 0.006 * k for k in range(100)], unit_variation={"0": 0.5}, events=[event])
    [found] = symmetric_units.check(run)
    assert found.severity is Severity.ERROR
    assert found.message.startswith("The weights of `0`, `2` began at zero")


def test_units_that_began_apart_were_not_made_alike():
    """The logarithms of the variances that a variational encoder gives come to agree, and nothing is wrong with it."""
    run = a_run(
        loss=[2.3 - 0.004 * i for i in range(100)],
        unit_variation={"log_variance": [0.96, 0.7, 0.4] + [0.05] * 97, "out": 0.7},
        batch_variation={"log_variance": 0.4, "out": 0.7},
    )
    assert not symmetric_units.check(run)
