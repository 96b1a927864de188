"""Classic faults that are put into healthy programs from outside, one at a time.

An operator changes torch, or the model and the optimizer at the moment they are handed to `watch`, before bedside has
seen anything: to bedside the run looks as if the program itself had the fault. Operators follow the mutation operators
of DeepCrime (Humbatova, Jahangirova and Tonella, 2021) and the taxonomy of real faults behind it.

What would be right to say of a fault is written beside it, from its definition: `exact` names the cause, `also` the
symptoms that lead there.
"""

from __future__ import annotations

from injected import data, loops, models, rates
from injected.injection import Operator

OPERATORS: dict[str, Operator] = {
    name: value
    for module in (rates, loops, models, data)
    for name, value in vars(module).items()
    if isinstance(value, Operator)
}
