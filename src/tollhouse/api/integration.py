"""The Integration API, for API keys and access tokens."""

from tollhouse.balance_payments import api as balance_payments
from tollhouse.conversions import operations as conversions
from tollhouse.fulfillments import api as fulfillments
from tollhouse.http.operations import Operation
from tollhouse.merchants import api as merchants
from tollhouse.payments import operations as payments
from tollhouse.reports import api as reports
from tollhouse.settings import api as settings
from tollhouse.webhooks import api as webhooks
from tollhouse.withdrawals import operations as withdrawals

OPERATIONS: list[Operation] = [
    *merchants.INTEGRATION_OPERATIONS,
    *payments.INTEGRATION_OPERATIONS,
    *balance_payments.INTEGRATION_OPERATIONS,
    *fulfillments.INTEGRATION_OPERATIONS,
    *reports.INTEGRATION_OPERATIONS,
    *settings.INTEGRATION_OPERATIONS,
    *webhooks.INTEGRATION_OPERATIONS,
    *withdrawals.INTEGRATION_OPERATIONS,
    *conversions.INTEGRATION_OPERATIONS,
]
