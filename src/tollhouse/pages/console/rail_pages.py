"""The operators' page about the rails of live mode: their health, the wallets that pay, and payouts that have not ended."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.labels import span
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of
from tollhouse.http.services import Services
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.rails.chain import HEALTH_EXPIRES_AFTER, ChainNetwork
from tollhouse.kernel.rails.provider import Provider
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.console import overview_store
from tollhouse.pages.console.layout import ActionQuery, FormState, chosen, decide, find_action, read_choice, render
from tollhouse.pages.console.overview_store import MeasuredRail
from tollhouse.rails.bank.files.transfer import BankTransfer
from tollhouse.rails.evm import operator_payouts as network_payouts
from tollhouse.rails.evm import payouts_store
from tollhouse.rails.evm.network.node import to_minor
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.network.sending import WEI_PER_GWEI

RailKind = Literal["bank", "network", "card"]
UNMEASURED = "Not measured yet. A worker with the settings of this rail must be running."
NODE_FAILED = "The node does not respond as expected."
NOT_PAID_OUT = "Payouts wait."
REASONS: dict[str, Translatable] = {
    "node_url and xpub are needed by the worker": "The worker needs the node's address and the extended public key.",
    "a deposit address was changed": (
        "A deposit address does not belong to the extended public key. Find out who changed the database."
    ),
    "the node is part of another network": "The node is part of another network.",
    "the newest block is too old": "The newest block of the node is too old.",
    "the extended public key cannot be used": "The extended public key is not that of an account of this network.",
    "the node has not downloaded the chain": "The node has not downloaded the chain.",
    "the node is behind the chain": "The node is more than two blocks behind the chain.",
    "the wallet of the node reads old blocks": "The wallet of the node reads old blocks.",
    "the wallet of the node does not watch all addresses that were given out": (
        "The wallet of the node does not watch all deposit addresses. Import them as docs/rails.md says."
    ),
    "the wallet of the node lacks a transaction that was credited": (
        "The wallet of the node lacks a transaction that was credited. Import the addresses again with an earlier time."
    ),
    "node, signer and rails file disagree about the chain": "Node, signer and rails file name different chains.",
    "the signer does not answer": "The signer does not answer. Check that it runs, and that the worker may open its socket.",
    "gas costs more than the maximum": "Gas costs more than the maximum in the rails file.",
    "the node cannot estimate the network fee": "The node cannot estimate the network fee yet.",
    "the network fee is more than the maximum": "The network fee is more than the maximum in the rails file.",
    "the wallet has too little for fees": "The wallet that pays has too little for network fees.",
}
"""What workers write as reason, up to a parenthesis, as a sentence. Other words are those of a node or a signer."""


class AssetBalance(Struct, frozen=True):
    """What the wallet that pays has of a currency, and whether it is too little."""

    currency: str
    amount: str
    is_down: bool


class PayoutsState(Struct, frozen=True, kw_only=True):
    """The payouts of a network. `detail` is what node or signer said, in English."""

    is_available: bool
    reason: Translatable | None
    detail: str | None
    checked_at: datetime | None
    wallet: str | None
    sweep_to: str | None
    next_nonce: int | None
    waiting: int
    gas_price_gwei: int | None
    balances: tuple[AssetBalance, ...]


class RailState(Struct, frozen=True, kw_only=True):
    """A rail. `block_age` is that of the newest block now; `payouts` is None where they are not configured.

    `is_exported`: operators export the payouts.
    """

    name: str
    kind: RailKind
    is_available: bool
    reason: Translatable | None = None
    detail: str | None = None
    checked_at: datetime | None = None
    newest_block: int | None = None
    block_age: Translatable | None = None
    final_block: int | None = None
    free_addresses: int | None = None
    account: str | None = None
    payouts: PayoutsState | None = None
    is_exported: bool = False


async def list_rails(services: Services, now: datetime) -> list[RailState]:
    """The configured rails of live mode, in the order of the settings."""
    measured = await overview_store.list_measured(services.db)
    found = [provider for provider in services.rails.providers.values() if provider.mode == "live"]
    return [_state(provider, measured.get(provider.name), services.catalogue, now) for provider in found]


def _state(provider: Provider, measured: MeasuredRail | None, catalogue: Catalogue, now: datetime) -> RailState:
    if isinstance(provider, BankTransfer):
        return RailState(name=provider.name, kind="bank", is_available=True, account=provider.account.iban)
    if not isinstance(provider, ChainNetwork):
        return RailState(name=provider.name, kind="card", is_available=provider.health().available)
    facts: dict[str, Any] = {} if measured is None else measured.facts
    checked_at = None if measured is None else measured.checked_at
    reason, detail = _reason(None if measured is None else measured.reason, checked_at, now, NODE_FAILED)
    age_s = facts.get("tip_age_s")
    since = timedelta() if checked_at is None else max(now - checked_at, timedelta())
    return RailState(
        name=provider.name,
        kind="network",
        is_available=reason is None,
        reason=reason,
        detail=detail,
        checked_at=checked_at,
        newest_block=facts.get("tip"),
        block_age=None if age_s is None else span(timedelta(seconds=age_s) + since),
        final_block=facts.get("final"),
        free_addresses=facts.get("free_addresses"),
        payouts=_payouts(provider, measured, catalogue, now) if provider.pays_out else None,
        is_exported=provider.is_exported,
    )


def _payouts(provider: ChainNetwork, measured: MeasuredRail | None, catalogue: Catalogue, now: datetime) -> PayoutsState:
    facts: dict[str, Any] = {} if measured is None else measured.payout_facts
    checked_at = None if measured is None else measured.payouts_checked_at
    reason, detail = _reason(None if measured is None else measured.payout_reason, checked_at, now, NOT_PAID_OUT)
    price_wei = facts.get("fee_per_gas_wei")
    return PayoutsState(
        is_available=reason is None,
        reason=reason,
        detail=detail,
        checked_at=checked_at,
        wallet=facts.get("wallet"),
        sweep_to=facts.get("sweep_to"),
        next_nonce=facts.get("next_nonce"),
        waiting=facts.get("waiting", 0),
        gas_price_gwei=None if price_wei is None else -(-price_wei // WEI_PER_GWEI),
        balances=_balances(provider, facts, frozenset() if measured is None else measured.currencies_down, catalogue),
    )


def _balances(
    provider: ChainNetwork, facts: dict[str, Any], down: frozenset[str], catalogue: Catalogue
) -> tuple[AssetBalance, ...]:
    balances: dict[str, str] = facts.get("balances", {})
    if not isinstance(provider, EvmNetwork):
        return tuple(
            AssetBalance(currency, catalogue.format_amount(int(minor), currency), currency in down)
            for currency, minor in balances.items()
            if currency in catalogue.currencies
        )
    return tuple(
        AssetBalance(currency, _amount(int(balances[currency]), currency, asset.decimals, catalogue), currency in down)
        for currency, asset in provider.assets.items()
        if currency in balances and currency in catalogue.currencies
    )


def _amount(units: int, currency: str, chain_decimals: int, catalogue: Catalogue) -> str:
    return catalogue.format_amount(to_minor(units, catalogue.currencies[currency].decimals, chain_decimals), currency)


def _reason(
    reason: str | None, checked_at: datetime | None, now: datetime, other: str
) -> tuple[Translatable | None, str | None]:
    """Why a rail is down as a sentence, and the words of a node or signer after it. None if it is not."""
    if checked_at is None:
        return UNMEASURED, None
    if now - checked_at > HEALTH_EXPIRES_AFTER:
        ago = span(now - checked_at)
        return Text("No worker has measured this rail for %(span)s. Start a worker.", span=ago), None
    if reason is None:
        return None, None
    sentence = REASONS.get(reason.partition(" (")[0])
    return (sentence, None) if sentence is not None else (other, reason)


OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/operator/rails", guard=operator_page)
async def rails(request: Request, caller: Operator, query: ActionQuery) -> Response:
    """Each rail with its health, the wallet that pays, and payouts that have not ended."""
    return await _rails(request, caller, query.state)


@OPERATIONS.add("POST", "/operator/rails/refuse", guard=operator_page)
async def refuse(request: Request, caller: Operator) -> Response:
    """Let the worker refuse a payout that waits and was never signed."""
    payout_id, wrong = read_choice(request, "payout")
    return await decide(
        request,
        caller,
        partial(_rails, request, caller),
        lambda work, context: network_payouts.mark_refused(work, chosen(payout_id), context),
        "/operator/rails",
        entered={"chosen": "" if payout_id is None else str(payout_id)},
        wrong=wrong,
    )


async def _rails(request: Request, caller: Operator, state: FormState) -> Response:
    services = request.services
    payouts = await network_payouts.list_open(services.db, services.catalogue)
    wanted = {named.payout_id for named in await payouts_store.list_to_refuse(services.db, len(payouts))}
    return await render(
        request,
        caller,
        "rails",
        state,
        here="rails",
        rails=await list_rails(services, request.now),
        payouts=payouts,
        wanted=wanted,
        refusable=[
            (str(payout.id), f"{formats_of(request).money(payout.amount, payout.currency)}, {payout.receiver}")
            for payout in payouts
            if payout.status == "waiting" and payout.id not in wanted
        ],
        chosen="",
        history=await find_action(request, state, kind="payout_to_be_refused"),
    )
