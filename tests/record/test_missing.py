"""A reading never taken is not a NaN that was seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bedside.record.missing import BITS_F4, BITS_F8, MISSING, MISSING_F4, is_missing, pack, unpack


def bits(values: np.ndarray) -> list[int]:
    return values.view(f"u{values.dtype.itemsize}").tolist()


def test_missing_is_a_quiet_nan_with_a_payload_of_its_own() -> None:
    assert np.isnan(MISSING)
    assert np.isnan(MISSING_F4)
    assert bits(np.array([MISSING, np.nan])) != [BITS_F8, BITS_F8]
    assert BITS_F4 & 0x7FC00000 == 0x7FC00000  # exponent and quiet bit


def test_nan_and_infinities_are_readings() -> None:
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, MISSING])
    assert is_missing(values).tolist() == [False, False, False, False, False, True]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_mark_survives_packing_and_unpacking(dtype: str) -> None:
    values = np.array([[1.5, MISSING, np.nan], [MISSING, np.inf, -np.inf]])
    packed = pack(values, dtype)
    assert packed.dtype == np.dtype(f"<{dtype}")
    back = unpack(np.frombuffer(packed.tobytes(), f"<{dtype}").reshape(2, 3))
    assert is_missing(back).tolist() == is_missing(values).tolist()
    np.testing.assert_array_equal(back, values)


def test_a_finite_reading_never_becomes_infinite() -> None:
    packed = pack(np.array([1e300, -1e300, np.inf]), "f4")
    assert np.isfinite(packed[:2]).all()
    assert packed[0] > 1e38
    assert packed[1] < -1e38
    assert packed[2] == np.inf


@given(st.lists(st.floats(width=32) | st.just(MISSING), min_size=1, max_size=20))
def test_every_float32_survives_bit_by_bit_except_the_payload_of_other_nans(readings: list[float]) -> None:
    values = np.array(readings)
    back = unpack(pack(values, "f4"))
    assert is_missing(back).tolist() == is_missing(values).tolist()
    np.testing.assert_array_equal(back, values)
    assert np.signbit(back[np.isfinite(values)]).tolist() == np.signbit(values[np.isfinite(values)]).tolist()
