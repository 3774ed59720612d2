"""Calls and events of tokens (ERC-20), as nodes take and return them."""

TRANSFER_SELECTOR = "a9059cbb"
BALANCE_SELECTOR = "70a08231"
TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""keccak256 of `Transfer(address,address,uint256)`."""


def word(address: str) -> str:
    """An address as 32 bytes in hexadecimal."""
    return address[2:].lower().rjust(64, "0")


def transfer_data(receiver: str, units: int) -> str:
    """The data of a call that transfers."""
    return f"0x{TRANSFER_SELECTOR}{word(receiver)}{units:064x}"


def balance_call(contract: str, address: str) -> dict[str, str]:
    """The call that returns the balance of an address."""
    return {"to": contract, "data": f"0x{BALANCE_SELECTOR}{word(address)}"}
