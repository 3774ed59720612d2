"""Parsing JSON that others wrote: whatever is wrong with it is one error.

A document can also be nested too deep to be parsed, which is no error of the decoder's own.
"""

from typing import TypeVar

import msgspec

T = TypeVar("T")


class ForeignJsonError(ValueError):
    """The document is not valid JSON, or not of the required type."""


def decode(raw: bytes | msgspec.Raw, kind: type[T]) -> T:
    """The document as this type. Raises `ForeignJsonError`."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ForeignJsonError(str(error)) from None
    except RecursionError:
        raise ForeignJsonError("nested too deep") from None
