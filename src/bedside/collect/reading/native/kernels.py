"""Native code, made by numba when this file is first imported (several seconds; the result is kept on disk).

All of it reads float32 where it lies: what is handed over are addresses, and whoever does so holds the tensors and has
looked that they lie in one piece (`native/sums.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

from bedside.collect.reading.native.float32 import SAFE_RANGE, WIDTH

BLOCK = 1024  # elements: a float32 sum of this many, in the lanes of a register, errs by 1e-7 at most
AHEAD = 4  # tensors whose beginning is fetched before their turn: saves a fifth where many are small (measured)
LINE = 64  # bytes that come into the cache together
FAR = 16  # blocks ahead, one line is fetched: where its page lies is then known in time (saves a twentieth)

# Sums may be taken in any order, which lets the compiler use wide registers; NaN and infinity stay what they are.
OPTIONS = {"fastmath": {"reassoc", "contract"}, "nogil": True, "cache": True}
SMALLEST_SAFE, LARGEST_SAFE = np.float32(SAFE_RANGE[0]), np.float32(SAFE_RANGE[1])
WITHOUT_SIGN, INFINITY = np.int32(0x7FFFFFFF), np.int32(0x7F800000)  # of the bits of a float32

Row, Table = types.int64[::1], types.int64[:, ::1]
Reals, Sums = types.float64[::1], types.float64[:, ::1]


@intrinsic
def floats_at(context: Any, address: Any) -> Any:
    return types.CPointer(types.float32)(address), _as_pointer


@intrinsic
def bits_at(context: Any, address: Any) -> Any:
    return types.CPointer(types.int32)(address), _as_pointer


@intrinsic
def float_of(context: Any, bits: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target.get_value_type(signature.return_type))

    return types.float32(types.int32), generate


@intrinsic
def fetch(context: Any, address: Any) -> Any:
    """Into the cache, without waiting; harmless at whatever address."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        read, stays, data = number(0), number(3), number(1)
        builder.call(prefetch, [builder.inttoptr(arguments[0], byte), read, stays, data])
        return target.get_dummy_value()

    return types.void(types.int64), generate


def _as_pointer(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], target.get_value_type(signature.return_type))


# Norms. Blocks are added up in float32, twice as many numbers at a time; what leaves its range once more in float64.


@njit(**OPTIONS)
def exactly(values: Any) -> float:
    total = 0.0
    for j in range(len(values)):
        value = np.float64(values[j])
        total += value * value
    return total


@njit(**OPTIONS)
def checked(square: Any, values: Any) -> float:
    return np.float64(square) if SMALLEST_SAFE < square < LARGEST_SAFE else exactly(values)


@njit(types.void(Row, Row, Reals), **OPTIONS)
def sum_squares(addresses: Any, sizes: Any, out: Any) -> None:
    """Squared norms of tensors at these addresses."""
    for i in range(len(sizes)):
        values, total = carray(floats_at(addresses[i]), (sizes[i],)), 0.0
        for start in range(0, sizes[i], BLOCK):
            block, square = values[start : start + BLOCK], np.float32(0)
            for j in range(len(block)):
                square += block[j] * block[j]
            total += checked(square, block)
        out[i] = total


@njit(types.void(Table, Sums), **OPTIONS)
def sum_changes(plan: Any, out: Any) -> None:
    """Squared norms of `new - old`, of `new` and of gradients, a row each; `old` becomes `new`. The plan: sizes,
    addresses of old, new and gradients. All three are read side by side: memory answers several streams sooner than
    one after the other (by a quarter, measured on ten million parameters)."""
    differences = np.empty(BLOCK, np.float32)
    for i in range(plan.shape[1]):
        if i + AHEAD < plan.shape[1]:
            for row in range(1, 4):
                fetch(plan[row, i + AHEAD])
                fetch(plan[row, i + AHEAD] + LINE)
        length = plan[0, i]
        olds = carray(floats_at(plan[1, i]), (length,))
        news = carray(floats_at(plan[2, i]), (length,))
        gradients = carray(floats_at(plan[3, i]), (length,))
        moved = size = steepness = 0.0
        for start in range(0, length, BLOCK):
            for row in range(1, 4):
                fetch(plan[row, i] + WIDTH * (start + FAR * BLOCK))
            old, new, gradient = (
                olds[start : start + BLOCK],
                news[start : start + BLOCK],
                gradients[start : start + BLOCK],
            )
            difference = differences[: len(old)]
            moved_here = size_here = steepness_here = np.float32(0)
            for j in range(len(old)):
                value, slope = new[j], gradient[j]
                change = value - old[j]
                moved_here += change * change
                size_here += value * value
                steepness_here += slope * slope
                difference[j] = change
                old[j] = value
            moved += checked(moved_here, difference)
            size += checked(size_here, new)
            steepness += checked(steepness_here, gradient)
        out[0, i], out[1, i], out[2, i] = moved, size, steepness


@njit(types.void(Table), **OPTIONS)
def copy(plan: Any) -> None:
    """Old becomes new, by the same plan."""
    for i in range(plan.shape[1]):
        old = carray(floats_at(plan[1, i]), (plan[0, i],))
        new = carray(floats_at(plan[2, i]), (plan[0, i],))
        for j in range(plan[0, i]):
            old[j] = new[j]


# Outputs of modules: tables of samples and units, every so many rows and columns of a tensor.


@njit(types.void(Table, Sums, Reals, Sums), **OPTIONS)
def sum_outputs(plan: Any, limits: Any, by_unit: Any, out: Any) -> None:
    """The sums of `output_summaries.py`, in its order. The plan: addresses, samples, units, elements from row to row
    and from column to column. The limits of each: up to where and from where on it is saturated."""
    for i in range(plan.shape[1]):
        samples, units, down, across = plan[1, i], plan[2, i], plan[3, i], plan[4, i]
        reach = (samples - 1) * down + (units - 1) * across + 1
        values = carray(floats_at(plan[0, i]), (reach,))
        bits = carray(bits_at(plan[0, i]), (reach,))
        units_here = by_unit[:units]
        units_here[:] = 0.0
        total = square = by_sample = 0.0
        nonzero, most = 0, np.int32(0)
        for row in range(samples):
            first, last = row * down, row * down + (units - 1) * across + 1
            if across == 1:
                here, bits_here = values[first:last], bits[first:last]
                sum_here, square_here, nonzero_here, most_here = 0.0, 0.0, 0, np.int32(0)
                for j in range(units):
                    value = np.float64(here[j])
                    sum_here += value
                    square_here += value * value
                    units_here[j] += value
                for j in range(units):
                    size = bits_here[j] & WITHOUT_SIGN
                    nonzero_here += size != 0
                    most_here = max(most_here, size)
            else:
                sum_here, square_here, nonzero_here, most_here = 0.0, 0.0, 0, np.int32(0)
                for j in range(units):
                    value = np.float64(values[first + j * across])
                    sum_here += value
                    square_here += value * value
                    units_here[j] += value
                    size = bits[first + j * across] & WITHOUT_SIGN
                    nonzero_here += size != 0
                    most_here = max(most_here, size)
            total += sum_here
            square += square_here
            by_sample += sum_here * sum_here
            nonzero += nonzero_here
            most = max(most, most_here)
        out[0, i], out[1, i], out[2, i] = total, square, nonzero
        size = np.float64(float_of(most))  # bits without a sign are in the order of the numbers, NaN last
        out[4, i], out[5, i], out[6, i] = exactly(units_here), by_sample, size * size
        low, high, saturated, bad = limits[i, 0], limits[i, 1], 0, 0
        if low == low or high == high:
            for row in range(samples):
                for j in range(units):
                    value = np.float64(values[row * down + j * across])
                    saturated += (value <= low) | (value >= high)
        if most >= INFINITY:
            for row in range(samples):
                for j in range(units):
                    bad += (bits[row * down + j * across] & WITHOUT_SIGN) >= INFINITY
        out[3, i], out[7, i] = saturated, bad
