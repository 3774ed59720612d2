"""Amounts and addresses of EVM networks: exact conversion between chain units and minor units, and EIP-55 checksums."""

import re

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
COIN_DECIMALS = 18


def to_units(amount_minor: int, decimals: int, chain_decimals: int) -> int:
    """The amount in units of the chain. Raises `ValueError` if the chain cannot express it."""
    if chain_decimals >= decimals:
        return amount_minor * 10 ** (chain_decimals - decimals)
    units, rest = divmod(amount_minor, 10 ** (decimals - chain_decimals))
    if rest:
        raise ValueError("the chain counts in larger units")
    return units


def to_minor(units: int, decimals: int, chain_decimals: int) -> int:
    """The amount in minor units, without what is less than one."""
    if chain_decimals >= decimals:
        return units // 10 ** (chain_decimals - decimals)
    return units * 10 ** (decimals - chain_decimals)


def checksum_address(address: str) -> str:
    """The address with the capitals that EIP-55 makes of its hash."""
    from eth_hash.auto import keccak  # noqa: PLC0415 - only where an EVM rail is configured

    digits = address[2:].lower()
    hashed = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if int(nibble, 16) >= 8 else digit  # noqa: PLR2004 - the upper half of a nibble
        for digit, nibble in zip(digits, hashed, strict=False)
    )


def is_address(text: str) -> bool:
    """Whether it is an address: of one case, or with the right checksum."""
    if ADDRESS.fullmatch(text) is None:
        return False
    return text[2:] in {text[2:].lower(), text[2:].upper()} or checksum_address(text) == text
