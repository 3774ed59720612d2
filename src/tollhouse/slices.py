"""All slices, in the order of the API reference."""

from collections.abc import Sequence

from tollhouse.accounting.slice import SLICE as ACCOUNTING
from tollhouse.audit_log.slice import SLICE as AUDIT_LOG
from tollhouse.balance_payments.slice import SLICE as BALANCE_PAYMENTS
from tollhouse.bank.slice import SLICE as BANK
from tollhouse.cards.slice import SLICE as CARDS
from tollhouse.chains.slice import SLICE as CHAINS
from tollhouse.checkout.slice import SLICE as CHECKOUT
from tollhouse.console.slice import SLICE as CONSOLE
from tollhouse.conversions.slice import SLICE as CONVERSIONS
from tollhouse.dashboard.slice import SLICE as DASHBOARD
from tollhouse.disputes.slice import SLICE as DISPUTES
from tollhouse.events.event_types import EVENT_TYPES, TEST_EVENT
from tollhouse.events.slice import SLICE as EVENTS
from tollhouse.fulfillments.slice import SLICE as FULFILLMENTS
from tollhouse.hash_chain.slice import SLICE as HASH_CHAIN
from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.operations import Operation, Surface
from tollhouse.http.slice import Slice
from tollhouse.idempotency.slice import SLICE as IDEMPOTENCY
from tollhouse.identity.slice import SLICE as IDENTITY
from tollhouse.ledger.slice import SLICE as LEDGER
from tollhouse.mail.slice import SLICE as MAIL
from tollhouse.merchants.slice import SLICE as MERCHANTS
from tollhouse.oauth.slice import SLICE as OAUTH
from tollhouse.outgoing.slice import SLICE as OUTGOING
from tollhouse.payment_links.slice import SLICE as PAYMENT_LINKS
from tollhouse.platform.invariants import Invariant
from tollhouse.rail_balances.slice import SLICE as RAIL_BALANCES
from tollhouse.receipts.slice import SLICE as RECEIPTS
from tollhouse.refunds.slice import SLICE as REFUNDS
from tollhouse.reports.slice import SLICE as REPORTS
from tollhouse.request_log.slice import SLICE as REQUEST_LOG
from tollhouse.sandbox.slice import SLICE as SANDBOX
from tollhouse.settings.slice import SLICE as SETTINGS
from tollhouse.transactions.slice import SLICE as TRANSACTIONS
from tollhouse.webhooks.slice import SLICE as WEBHOOKS
from tollhouse.withdrawals.slice import SLICE as WITHDRAWALS

SLICES: Sequence[Slice] = (
    MERCHANTS,
    OAUTH,
    PAYMENT_LINKS,
    TRANSACTIONS,
    RECEIPTS,
    REFUNDS,
    DISPUTES,
    SANDBOX,
    CHAINS,
    CARDS,
    RAIL_BALANCES,
    BALANCE_PAYMENTS,
    FULFILLMENTS,
    REPORTS,
    SETTINGS,
    WEBHOOKS,
    WITHDRAWALS,
    CONVERSIONS,
    DASHBOARD,
    CHECKOUT,
    REQUEST_LOG,
    AUDIT_LOG,
    CONSOLE,
    OUTGOING,
    BANK,
    ACCOUNTING,
    LEDGER,
    HASH_CHAIN,
    EVENTS,
    MAIL,
    IDENTITY,
    IDEMPOTENCY,
)
INVARIANTS: Sequence[Invariant] = [invariant for one in SLICES for invariant in one.invariants]
EVENT_SPECS: Sequence[EventSpec] = sorted(
    (event for one in SLICES for event in one.events), key=lambda event: (*EVENT_TYPES, TEST_EVENT).index(event.type)
)
"""The webhook events, in the order of their types."""


def operations(*surfaces: Surface) -> list[Operation]:
    """The operations of all slices on these surfaces, surface by surface."""
    return [
        operation for surface in surfaces for one in SLICES for operation in one.operations if operation.surface == surface
    ]
