"""The customer's wallet of the demo: it pays what a checkout page asks for, from an account of the test node."""

import html
import re
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import aiohttp
import msgspec
from msgspec import Struct

from tollhouse.instance.demo.network import BLOCK_TIME_S, FINALITY, RAIL, RAILS_FILE, send, wait_for_receipt
from tollhouse.instance.demo.programs import DemoError
from tollhouse.rails import configured
from tollhouse.rails.evm.network.node import COIN_DECIMALS, EvmNode, HexAddress, number_of, transfer_data
from tollhouse.rails.evm.settings import EvmSettings
from tollhouse.rails.json_rpc import NodeError

URI = re.compile(r"ethereum:(?P<target>0x[0-9a-fA-F]{40})@(?P<chain>\d+)(?P<function>/transfer)?\?(?P<query>[^\"'\s<]+)")
METHOD = re.compile(rf'name="method_id" value="({RAIL}:[A-Z0-9]+)"')
ADDRESS = re.compile(r'id="address"[^>]* data-copy-value="(0x[0-9a-fA-F]{40})"')
CUSTOMER = 1
"""The node's account that pays."""


class CheckoutState(Struct, frozen=True):
    """What is read of the JSON that the checkout page polls."""

    status: str
    amount_due: str
    currency: str


class PaymentRequest(Struct, frozen=True):
    """What a checkout page asks for: an amount in the smallest unit, of a token or, without a contract, of the coin."""

    receiver: str
    units: int
    contract: str | None


async def pay(folder: Path, url: str, amount: str | None) -> None:
    """Pay the checkout page at `url`, and print what happened. A page without a method gets the first of the network.

    `amount` is in the asset, such as 12.5; by default the one that is asked for, or what is missing. Raises `DemoError`.
    """
    network = _network(folder)
    async with aiohttp.ClientSession(headers={"Accept": "text/html"}) as http:
        try:
            shown, request = await _open(http, url, network)
        except aiohttp.ClientError as error:
            raise DemoError(f"{url} cannot be opened: {type(error).__name__}") from None
    currency, decimals = _asset(network, request)
    if amount is not None:
        request = PaymentRequest(request.receiver, _units(amount, decimals), request.contract)
    print(f"Paying {Decimal(request.units).scaleb(-decimals).normalize():f} {currency} to {request.receiver}")
    try:
        async with EvmNode(network.node_url or "") as node:
            customer = (await node.call(list[HexAddress], "eth_accounts"))[CUSTOMER]
            if request.contract is None:
                tx_hash = await send(node, customer, request.receiver, value_wei=request.units)
            else:
                tx_hash = await send(node, customer, request.contract, transfer_data(request.receiver, request.units))
            print(f"Transaction {tx_hash}", flush=True)
            receipt = await wait_for_receipt(node, tx_hash)
    except NodeError as error:
        raise DemoError(f"The demo's node did not take the payment: {error}") from None
    if not receipt.succeeded:
        raise DemoError("The transaction was reverted: the customer's account has too little.")
    print(f"In block {number_of(receipt.block_number)}, with 1 confirmation of {FINALITY}; one more every {BLOCK_TIME_S} s.")
    print(f"Watch them on {shown}")


def _network(folder: Path) -> EvmSettings:
    file = folder / RAILS_FILE
    network = configured.load(file).get(RAIL) if file.exists() else None
    if not isinstance(network, EvmSettings):
        raise DemoError("There is no demo with a network. Start one: tollhouse demo --rail evm")
    return network


async def _open(http: aiohttp.ClientSession, url: str, network: EvmSettings) -> tuple[str, PaymentRequest]:
    """The address of the payment's page, and what it asks for."""
    async with http.get(url) as response:
        text = html.unescape(await response.text())
    if (found := URI.search(text)) is not None:
        return url, _request(found)
    if (address := ADDRESS.search(text)) is not None:  # a part is paid: the page has no URI for the rest
        return url, await _rest(http, url, address[1], network)
    method = METHOD.search(text)
    if method is None:
        raise DemoError(f"{url} asks for no payment on the demo's network.")
    path = f"{url.partition('?')[0]}/method"
    async with http.post(path, data={"method_id": method[1]}, allow_redirects=False) as response:
        chosen = urljoin(url, response.headers.get("Location", ""))
    if urlsplit(chosen).query == urlsplit(url).query:
        raise DemoError(f"{url} offers {method[1]}, but it is not available now.")
    async with http.get(chosen) as response:
        found = URI.search(html.unescape(await response.text()))
    if found is None:
        raise DemoError(f"{chosen} asks for no payment on the demo's network.")
    return chosen, _request(found)


async def _rest(http: aiohttp.ClientSession, url: str, address: str, network: EvmSettings) -> PaymentRequest:
    """What is missing of a payment. Raises `DemoError`."""
    path, _, query = url.partition("?")
    async with http.get(f"{path}/status?{query}") as response:
        state = msgspec.json.decode(await response.read(), type=CheckoutState)
    token = network.tokens.get(state.currency)
    if state.status != "underpaid" or (token is None and state.currency != network.coin):
        raise DemoError(f"{url} asks for no payment on the demo's network.")
    decimals, contract = (COIN_DECIMALS, None) if token is None else (token.decimals, token.contract)
    return PaymentRequest(address, _units(state.amount_due, decimals), contract)


def _request(uri: re.Match[str]) -> PaymentRequest:
    """The request of an EIP-681 URI. Raises `DemoError`."""
    values = {name: given[0] for name, given in parse_qs(uri["query"]).items()}
    try:
        if uri["function"] is None:
            return PaymentRequest(uri["target"], int(values["value"]), None)
        return PaymentRequest(values["address"], int(values["uint256"]), uri["target"])
    except (KeyError, ValueError):
        raise DemoError(f"{uri[0]} is not a payment.") from None


def _asset(network: EvmSettings, request: PaymentRequest) -> tuple[str, int]:
    """Its currency, and the decimals that the chain counts in."""
    if request.contract is None:
        return network.coin, COIN_DECIMALS
    for currency, token in network.tokens.items():
        if token.contract.lower() == request.contract.lower():
            return currency, token.decimals
    raise DemoError(f"{request.contract} is not a token of the demo.")


def _units(amount: str, decimals: int) -> int:
    if re.fullmatch(r"[0-9]{1,20}(\.[0-9]{1,18})?", amount) is None:
        raise DemoError(f"{amount} is not an amount, such as 12.5.")
    units = Decimal(amount).scaleb(decimals)
    if units != units.to_integral_value():
        raise DemoError(f"{amount} has more than {decimals} decimals.")
    return int(units)
