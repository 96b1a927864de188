from bedside.finding import NotExamined, Severity
from bedside.record.run import Event, Parameter
from bedside.rules.uncovered_parameter import uncovered_parameter
from bedside.testing import a_run


def check(**held):
    parameters = [Parameter(f"{owner}.weight", owner, 10, in_optimizer=inside) for owner, inside in held.items()]
    return uncovered_parameter.check(a_run(loss=[2.0] * 50, parameters=parameters))


def test_speaks_when_the_head_is_in_no_optimizer():
    [found] = check(front=True, middle=True, head=False)
    assert (found.severity, found.where, found.first_step) == (Severity.ERROR, ("head",), 0)
    assert 'add_param_group({"params": model.get_submodule("head").parameters()})' in found.try_[1]


def test_speaks_when_the_optimizer_holds_nothing_of_the_model():
    [found] = check(front=False, head=False)
    assert found.severity == Severity.ERROR
    assert found.message.startswith("No optimizer holds any of the model's parameters (20 of 20")


def test_is_a_note_when_only_the_back_is_trained():
    [found] = check(front=False, middle=False, head=True)
    assert found.severity == Severity.NOTE


def with_strangers(names):
    facts = {"tensors": 2, "size": 90, "names": names, "model_size": 10}
    head = Parameter("head.weight", "head", 10)
    return a_run(loss=[2.0] * 50, parameters=[head], events=[Event(0, "foreign_leaves", facts)])


def test_speaks_when_the_layers_are_in_a_plain_list():
    [found] = uncovered_parameter.check(with_strangers(["layers[0].weight", "layers[1].weight"]))
    assert (found.severity, found.where) == (Severity.ERROR, ("layers",))
    assert "self.layers = nn.ModuleList([…])" in found.try_[0]


def test_is_a_note_when_the_strangers_are_not_kept_in_the_model():
    [found] = uncovered_parameter.check(with_strangers([]))
    assert found.severity == Severity.NOTE


def test_names_the_one_parameter_that_was_forgotten():
    parameters = [Parameter("head.weight", "head", 10), Parameter("head.bias", "head", 2, in_optimizer=False)]
    [found] = uncovered_parameter.check(a_run(loss=[2.0] * 50, parameters=parameters))
    assert found.where == ("head.bias",)


def test_stays_silent_when_every_trainable_parameter_is_held():
    frozen = Parameter("front.weight", "front", 10, trainable=False, in_optimizer=False)
    assert not uncovered_parameter.check(a_run(loss=[2.0], parameters=[frozen, Parameter("head.weight", "head", 10)]))


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(uncovered_parameter.examine(a_run(loss=[2.0])), NotExamined)


def test_is_an_error_when_the_front_is_missing_and_two_optimizers_hold_the_same():
    front = Parameter("gen.weight", "gen", 64, in_optimizer=False)
    back = Parameter("dis.weight", "dis", 64)
    shared = Event(0, "shared_parameters", {"tensors": 1, "optimizers": [0, 1], "all": True})
    [found] = uncovered_parameter.check(a_run(loss=[1.0] * 50, parameters=[front, back], events=[shared]))
    assert found.severity is Severity.ERROR
    assert "two optimizers hold the same" in found.message
