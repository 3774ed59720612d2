"""Addresses of an account key: the vectors of BIP84, other writings of the key, and addresses to pay to."""

import pytest
from btclib.network import NETWORKS
from btclib_wallet import slip132
from btclib_wallet.bip32 import derive, rootxprv_from_seed, xpub_from_xprv

from tests.rails.bitcoin.wallet import ACCOUNT, FINGERPRINT, ROOT, THEIRS, ZPUB
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import InvalidKeyError, Network, parse_account

VECTOR_ZPUB = (
    "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
)
VECTOR_CHANGE_KEY = "03025324888e429ab8e3dbaf1f7802648b9cd01e9b418485c5fa4c1b9b5700e1a6"
TAPROOT = "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr"
LATER_VERSION = "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs"


def test_the_addresses_are_those_of_bip84() -> None:
    """The vectors of BIP84: two deposits and the first change."""
    assert ZPUB == VECTOR_ZPUB
    assert keys.addresses(ACCOUNT, keys.DEPOSITS, range(2)) == [
        "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
        "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
    ]
    assert keys.address(ACCOUNT, keys.CHANGE, 0) == "bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el"
    assert keys.address(ACCOUNT, keys.DEPOSITS, keys.INDEX_MAX).startswith("bc1q")
    assert keys.public_key(ACCOUNT, keys.CHANGE, 0).hex() == VECTOR_CHANGE_KEY


def test_the_key_may_be_written_as_xpub_or_zpub() -> None:
    """Both are one account, with one descriptor."""
    xpub = xpub_from_xprv(derive(ROOT, "m/84h/0h/0h", NETWORKS["mainnet"].bip32_prv))
    same = parse_account(f" {xpub}\n", "main", FINGERPRINT.upper(), "m/84'/0'/0'")
    assert same == ACCOUNT
    assert keys.descriptor(same, keys.CHANGE) == f"wpkh([73c5da0a/84h/0h/0h]{xpub}/1/*)"
    test_root = rootxprv_from_seed(bytes(32), NETWORKS["testnet"].bip32_prv)
    vpub = xpub_from_xprv(slip132.p2wpkh_xkey(test_root, "m/84h/1h/0h"))
    prefixes: dict[Network, str] = {"test": "tb1q", "signet": "tb1q", "testnet4": "tb1q", "regtest": "bcrt1q"}
    for network, prefix in prefixes.items():
        account = parse_account(vpub, network, "00000000", "84h/1h/0h")
        assert keys.address(account, keys.DEPOSITS, 0).startswith(prefix)


def test_another_key_is_refused_without_showing_it() -> None:
    """Private keys, keys of another network or depth, and what is no key."""
    private = derive(ROOT, "m/84h/0h/0h")
    nested = xpub_from_xprv(slip132.p2wpkh_p2sh_xkey(ROOT))
    deeper = xpub_from_xprv(derive(ROOT, "m/84h/0h/0h/0"))
    for text, why in (
        (private, "private key"),
        (nested, "native SegWit"),
        (deeper, "depth 4"),
        (ZPUB[:-1] + "t", "not an extended"),
        ("", "not an extended"),
        ("ü", "not an extended"),
    ):
        with pytest.raises(InvalidKeyError, match=why) as refused:
            parse_account(text, "main", FINGERPRINT, "84h/0h/0h")
        assert not text.strip() or text not in str(refused.value)
    with pytest.raises(InvalidKeyError):
        parse_account(ZPUB, "test", FINGERPRINT, "84h/0h/0h")
    for origin, path in (("12", "84h/0h/0h"), (FINGERPRINT, "x")):
        with pytest.raises(InvalidKeyError):
            parse_account(ZPUB, "main", origin, path)


def test_receivers_are_addresses_of_the_network() -> None:
    """All kinds that can be spent, also in capitals; not those of other networks or of later versions."""
    for address in (THEIRS, THEIRS.upper(), f" {THEIRS} ", TAPROOT, "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"):
        assert keys.address_error(address, "main") is None, address
    assert keys.address_error("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "main") is None
    wrong = (THEIRS[:-1] + "x", "bC1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", LATER_VERSION, "", "bc1", "ü", "0" * 5000)
    for address in (*wrong, "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"):
        assert keys.address_error(address, "main") is not None, address
    sharing: tuple[Network, ...] = ("test", "signet", "regtest")
    for network in sharing:
        assert keys.address_error("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", network) is None
    assert keys.normal_address(f"{THEIRS.upper()} ") == THEIRS
