"""What is printed in boxes is one record each."""

from __future__ import annotations

from tests.logs.printed import curve, run_of

from bedside.logs.formats.text.boxes import in_one_line


def box(step: int, **metrics: float) -> list[str]:
    rows = [f"|    {name:<20} | {value:<10} |" for name, value in metrics.items()]
    return [
        "-" * 40,
        "| rollout/              |            |",
        *rows,
        "| time/ |  |",
        f"|    total_timesteps | {step} |",
        "-" * 40,
    ]


def test_what_stands_above_the_step_belongs_to_it():
    run = run_of(*(line for step in (100, 200, 300) for line in box(step, ep_rew_mean=step / 1000)))
    assert curve(run.series("train/ep_rew_mean")) == {100: 0.1, 200: 0.2, 300: 0.3}


def test_a_box_may_count_other_things_before_its_steps():
    run = run_of(*box(100, iterations=1, loss=3.5), *box(200, iterations=2, loss=2.5))
    assert curve(run.loss) == {100: 3.5, 200: 2.5}


def test_the_headings_of_a_box_tell_splits_apart():
    run = run_of(
        "| eval/ | |", "|    success_rate | 0.5 |", "| time/ | |", "|    total_timesteps | 10 |", "| train/ | |",
        "|    loss | 2.0 |", "------",
    )  # fmt: skip
    assert curve(run.loss) == {10: 2.0}
    assert curve(run.series("val/success_rate")) == {10: 0.5}


def test_an_evaluation_may_say_the_step_of_the_run_itself():
    run = run_of("step 100 loss 2.5", "Eval num_timesteps=200, val_loss=2.25", "step 300 loss 1.5")
    assert curve(run.series("val/loss")) == {200: 2.25}


def test_a_name_that_comes_again_begins_another_box():
    lines = ["| loss | 3.0 |", "| step | 1 |", "| loss | 2.0 |", "| step | 2 |"]
    assert list(in_one_line(lines)) == ["step: 1, loss: 3.0", "step: 2, loss: 2.0"]


def test_other_lines_with_bars_stay_as_they_are():
    lines = [
        "| step | loss |",
        "|-----:|-----:|",
        "| 10 | 2.5 |",
        "| epoch 3 | 5 batches | loss 2.5 |",
        "| name | value |",
    ]
    assert list(in_one_line(lines)) == lines
