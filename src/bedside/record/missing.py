"""Missing is not NaN: a reading that was never taken, kept apart from a NaN that was really seen.

A packed row has a place for every column, read or not. A place without a reading holds a quiet NaN with a
payload of its own, as R marks NA; an ordinary NaN or ±inf in a row is a reading like any other.

>>> import numpy as np
>>> is_missing(np.array([1.0, np.nan, MISSING])).tolist()
[False, False, True]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The payload sits in the bits that float32 has too, and the float64 pattern is its exact widening, so the mark
# also survives hardware conversions that nobody asked us about.
BITS_F4 = 0x7FEDBED5
BITS_F8 = (0x7FF << 52) | ((BITS_F4 & 0x7FFFFF) << 29)

MISSING = float(np.uint64(BITS_F8).view(np.float64))
MISSING_F4 = np.uint32(BITS_F4).view(np.float32)

_AS_BITS: dict[str, tuple[type[np.unsignedinteger[Any]], int]] = {
    "f4": (np.uint32, BITS_F4),
    "f8": (np.uint64, BITS_F8),
}
_LARGEST_F4 = float(np.finfo(np.float32).max)


def is_missing(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Where nothing was read; for float32 and float64 arrays of any shape."""
    unsigned, bits = _AS_BITS[f"f{values.dtype.itemsize}"]
    return np.asarray(values.view(unsigned) == bits)


def pack(values: NDArray[np.float64], dtype: str) -> NDArray[np.floating[Any]]:
    """`values` as a contiguous little-endian array of "f4" or "f8"; the mark of the missing is kept.

    A finite reading too large for float32 becomes the largest float32: an infinity in a record was really seen.
    """
    if dtype == "f8":
        return np.ascontiguousarray(values, "<f8")
    with np.errstate(over="ignore"):
        packed = np.ascontiguousarray(values, "<f4")
    if not np.isfinite(packed).all():
        packed[is_missing(values)] = MISSING_F4
        infinite = np.isinf(packed)
        if infinite.any():
            too_large = infinite & np.isfinite(values)
            packed[too_large] = np.copysign(_LARGEST_F4, values[too_large])
    return packed


def unpack(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Back to float64, with the mark of the missing written explicitly."""
    wide = np.asarray(values, np.float64)
    if wide is not values and np.isnan(wide).any():
        wide[is_missing(values)] = MISSING
    return wide
