"""Stored JSON: what was packed is read as it was, also what was stored before, and damage is found."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.running import Service, settings_for
from tollhouse.instance.api.reference import event_examples
from tollhouse.platform.database.packed_json import DICTIONARY, pack, pack_template, place, unpack

UNCHANGED = "2d85b764a7bee0e288a2a6f2899d65ce4b2159a83e6d7039ba44273030dd2fc8"


@given(st.binary(max_size=5_000).map(lambda rest: b"{" + rest))
def test_what_was_packed_is_unpacked(json: bytes) -> None:
    assert unpack(pack(json)) == json
    assert unpack(json) == json


def test_the_dictionary_never_changes() -> None:
    assert hashlib.sha256(DICTIONARY).hexdigest() == UNCHANGED


def test_events_are_stored_in_less_than_a_third_of_their_size() -> None:
    examples: Mapping[str, Mapping[str, Any]] = event_examples(settings_for("postgresql:///nowhere"))
    bodies = [msgspec.json.encode(data) for name, data in examples.items() if name != "webhook.test"]
    assert sum(len(pack(body)) for body in bodies) < sum(map(len, bodies)) / 3


def test_damage_is_found() -> None:
    stored = pack(b'{"id":"' + bytes(range(32, 127)) + b'"}')
    for length in range(1, len(stored)):
        with pytest.raises(ValueError, match="damaged"):
            unpack(stored[:length])
    with pytest.raises(ValueError, match="damaged"):
        unpack(stored + b"x")


def test_a_template_is_filled_with_the_integers_that_follow() -> None:
    places = (place(0, "number"), place(1, "time"), place(0, 2), place(2, 0), place(3, 8), place(0, "number"))
    template = b'{"text":"%s \xc3\xbf 0n","version":' + b",".join(places) + b"}"
    stored = pack_template(template) + b" 105 1795420923007 -3 9007199254740991"
    filled = b'{"text":"%s \xc3\xbf 0n","version":105,"2026-11-23T08:02:03.007Z","1.05","-3","90071992.54740991",105}'
    assert unpack(stored) == filled


@pytest.mark.long
async def test_the_database_shows_what_is_stored(service: Service) -> None:
    examples: Mapping[str, Mapping[str, Any]] = event_examples(settings_for("postgresql:///nowhere"))
    bodies = [msgspec.json.encode(data) for data in examples.values()]
    bodies += [hashlib.shake_256(b"").hexdigest(1_000).encode(), "{ÿ😀}".encode() * 40, b"{}", b"{" + b"x" * 10_000]
    places = (place(0, "number"), place(1, "time"), place(0, 2), place(2, 0), place(3, 8))
    template = pack_template(b'{"text":"\xc3\xbf 0n","version":' + b",".join(places) + b"}")
    for stored in (*bodies, *map(pack, bodies), template + b" 105 1795420923007 -3 9007199254740991"):
        [row] = await service.sql("SELECT json_text($1) AS text", stored)
        assert row["text"].encode() == unpack(stored)


@pytest.mark.parametrize("integers", [b"", b" 1", b" x 2", b" 1 2.5"])
def test_a_damaged_template_is_found(integers: bytes) -> None:
    stored = pack_template(b"{" + b",".join([place(0, "number"), place(1, 2)]) + b"}")
    with pytest.raises(ValueError):  # noqa: PT011 - also those of `int`
        unpack(stored + integers)
