"""The protobuf wire format, as much of it as a reader of logs needs: fields by number, nothing else.

No schema and no package: a message is a sequence of (field number, value), where a value is an int (varint),
four or eight raw bytes, or the bytes of a string or an inner message.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_VARINT_BYTES = 10


class Malformed(ValueError):
    """The bytes are not a protobuf message."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, next position)."""
    value = shift = 0
    for _ in range(MAX_VARINT_BYTES):
        try:
            byte = data[at]
        except IndexError:
            raise Malformed("a number is cut off") from None
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise Malformed("a number has no end")


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Every field of a message in order."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 2:
            length, at = varint(data, at)
            if at + length > end:
                raise Malformed("a field is longer than its message")
            yield key >> 3, data[at : at + length]
            at += length
        elif kind == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
            if at + length > end:
                raise Malformed("a field is longer than its message")
            yield key >> 3, data[at : at + length]
            at += length
        else:
            raise Malformed(f"wire type {kind}")


def signed(value: int) -> int:
    """A varint as int64."""
    return value - (1 << 64) if value >= 1 << 63 else value


def text(value: int | bytes) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else ""
