"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.pages.dashboard import go_live, saved_filters
from tollhouse.pages.dashboard.account import audit_log, business, password, security, sign_in, stop_everything
from tollhouse.pages.dashboard.balances import (
    balance_payments,
    batches,
    conversion_rules,
    conversions,
    fulfillments,
    ledger,
    new_withdrawal,
    proposals,
    reports,
    saved_recipients,
    withdrawals,
)
from tollhouse.pages.dashboard.developers import (
    application,
    application_events,
    applications,
    connections,
    consent,
    consent_preview,
    device,
    redelivery,
    request_log,
    test_clock,
    webhooks,
)
from tollhouse.pages.dashboard.home import home, search
from tollhouse.pages.dashboard.payments import (
    disputes,
    fees,
    new_payment_link,
    payment_links,
    payment_settings,
    payments,
    payments_export,
    projects,
    refunds,
)

SLICE = Slice(
    operations=(
        *sign_in.OPERATIONS,
        *stop_everything.OPERATIONS,
        *connections.OPERATIONS,
        *application.OPERATIONS,
        *application_events.OPERATIONS,
        *applications.OPERATIONS,
        *audit_log.OPERATIONS,
        *balance_payments.OPERATIONS,
        *business.OPERATIONS,
        *consent.OPERATIONS,
        *consent_preview.OPERATIONS,
        *device.OPERATIONS,
        *conversion_rules.OPERATIONS,
        *conversions.OPERATIONS,
        *disputes.OPERATIONS,
        *password.OPERATIONS,
        *fees.OPERATIONS,
        *fulfillments.OPERATIONS,
        *home.OPERATIONS,
        *ledger.OPERATIONS,
        *payment_settings.OPERATIONS,
        *new_payment_link.OPERATIONS,
        *new_withdrawal.OPERATIONS,
        *proposals.OPERATIONS,
        *payment_links.OPERATIONS,
        *payments.OPERATIONS,
        *payments_export.OPERATIONS,
        *security.OPERATIONS,
        *projects.OPERATIONS,
        *redelivery.OPERATIONS,
        *refunds.OPERATIONS,
        *reports.OPERATIONS,
        *request_log.OPERATIONS,
        *go_live.OPERATIONS,
        *saved_filters.OPERATIONS,
        *saved_recipients.OPERATIONS,
        *search.OPERATIONS,
        *test_clock.OPERATIONS,
        *webhooks.OPERATIONS,
        *batches.OPERATIONS,
        *withdrawals.OPERATIONS,
    )
)
