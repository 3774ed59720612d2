"""Sealed secrets open only where they belong, under any key of the ring; tokens have their form."""

import zlib

import pytest

from tollhouse.kernel import tokens
from tollhouse.platform.encryption import DecryptionError, KeyRing

OLD, NEW = ("old", bytes(32)), ("new", bytes(range(32)))


def test_a_seal_opens_where_it_belongs_and_nowhere_else() -> None:
    ring = KeyRing((OLD,))
    encrypted = ring.encrypt(b"whsec", "merchant|test|1")
    assert b"whsec" not in encrypted.ciphertext
    assert KeyRing((NEW, OLD)).open(encrypted, "merchant|test|1") == b"whsec"
    for keys, bound_to in (((OLD,), "merchant|live|1"), ((NEW,), "merchant|test|1")):
        with pytest.raises(DecryptionError):
            KeyRing(keys).open(encrypted, bound_to)


def test_every_key_of_the_ring_vouches() -> None:
    mac = KeyRing((OLD,)).mac(b"message")
    assert KeyRing((NEW, OLD)).verify_mac(b"message", mac[:16])
    assert not KeyRing((NEW, OLD)).verify_mac(b"massage", mac)
    assert not KeyRing((NEW,)).verify_mac(b"message", mac)
    assert not KeyRing((OLD,)).verify_mac(b"message", mac[:15])


def test_the_form_of_a_secret() -> None:
    secret = tokens.mint("that")
    assert len(secret) == len("that_") + 43 + 6
    assert tokens.is_well_formed("that", secret)
    for broken in (secret[:-1] + ("0" if secret[-1] != "0" else "1"), secret + "0", secret[:-1], secret + "\n", ""):
        assert not tokens.is_well_formed("that", broken)
    assert not tokens.is_well_formed("thrt", secret)
    assert tokens.with_checksum("th_live", "0" * 43) == "th_live_" + "0" * 43 + _crc("0" * 43)


def _crc(body: str) -> str:
    number, digits = zlib.crc32(f"th_live_{body}".encode()), ""
    while number:
        number, digit = divmod(number, 62)
        digits = tokens.ALPHABET[digit] + digits
    return digits.rjust(6, "0")
