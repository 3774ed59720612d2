"""Examples of the API reference, declared at the fields they belong to."""

from typing import Any
from zlib import crc32

from msgspec import Meta

MOMENT = "2026-11-21T09:30:00.000Z"


def example(value: Any) -> Meta:
    """On a field of a request or response: its value in examples. An optional member with one is part of them."""
    return Meta(examples=[value])


def example_id(name: str) -> str:
    """The id of an object in every example: `payment_link_id` is the `id` of a `payment_link`."""
    return f"019a8f6e-2d4b-7c31-9e55-{crc32(name.encode()):012x}"
