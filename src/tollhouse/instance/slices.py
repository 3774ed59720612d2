"""All slices, in the order of the API reference."""

from collections.abc import Sequence

from tollhouse.accounts.audit.slice import SLICE as AUDIT_LOG
from tollhouse.accounts.idempotency.slice import SLICE as IDEMPOTENCY
from tollhouse.accounts.identity.slice import SLICE as IDENTITY
from tollhouse.accounts.mail.slice import SLICE as MAIL
from tollhouse.accounts.merchants.slice import SLICE as MERCHANTS
from tollhouse.accounts.notifications.slice import SLICE as NOTIFICATIONS
from tollhouse.accounts.settings.slice import SLICE as SETTINGS
from tollhouse.accounts.team.slice import SLICE as TEAM
from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.operations import Operation, Surface
from tollhouse.http.slice import Slice
from tollhouse.ledger.slice import SLICE as LEDGER
from tollhouse.oauth.slice import SLICE as OAUTH
from tollhouse.pages.checkout.slice import SLICE as CHECKOUT
from tollhouse.pages.console.slice import SLICE as CONSOLE
from tollhouse.pages.dashboard.slice import SLICE as DASHBOARD
from tollhouse.payments.slice import SLICE as PAYMENTS
from tollhouse.platform.database.invariants import Invariant
from tollhouse.rails.balances.slice import SLICE as RAIL_BALANCES
from tollhouse.rails.chains.slice import SLICE as CHAINS
from tollhouse.rails.configured import RAILS
from tollhouse.transfers.slice import SLICE as TRANSFERS
from tollhouse.webhooks.delivery.slice import SLICE as EVENTS
from tollhouse.webhooks.endpoints.slice import SLICE as WEBHOOKS
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT
from tollhouse.webhooks.request_log.slice import SLICE as REQUEST_LOG

SLICES: Sequence[Slice] = (
    MERCHANTS,
    OAUTH,
    PAYMENTS,
    *(rail.slice for rail in RAILS),
    CHAINS,
    RAIL_BALANCES,
    TRANSFERS,
    LEDGER,
    SETTINGS,
    TEAM,
    WEBHOOKS,
    DASHBOARD,
    CHECKOUT,
    REQUEST_LOG,
    AUDIT_LOG,
    CONSOLE,
    EVENTS,
    MAIL,
    NOTIFICATIONS,
    IDENTITY,
    IDEMPOTENCY,
)
INVARIANTS: Sequence[Invariant] = [invariant for part in SLICES for invariant in part.invariants]
EVENT_SPECS: Sequence[EventSpec] = sorted(
    (event for part in SLICES for event in part.events), key=lambda event: (*EVENT_TYPES, TEST_EVENT).index(event.type)
)
"""The webhook events, in the order of their types."""


def operations(*surfaces: Surface) -> list[Operation]:
    """The operations of all slices on these surfaces, surface by surface."""
    return [
        operation for surface in surfaces for part in SLICES for operation in part.operations if operation.surface == surface
    ]
