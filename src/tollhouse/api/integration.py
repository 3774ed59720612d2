"""The Integration API, for API keys and access tokens."""

from tollhouse.balance_payments import api as balance_payments
from tollhouse.conversions import operations as conversions
from tollhouse.fulfillments import api as fulfillments
from tollhouse.http.operations import Operation
from tollhouse.merchants import api as merchants
from tollhouse.payment_links import operations as payment_links
from tollhouse.refunds import api as refunds
from tollhouse.reports import api as reports
from tollhouse.sandbox import api as sandbox
from tollhouse.settings import api as settings
from tollhouse.transactions import operations as transactions
from tollhouse.webhooks import api as webhooks
from tollhouse.withdrawals import operations as withdrawals

OPERATIONS: list[Operation] = [
    *merchants.INTEGRATION_OPERATIONS,
    *payment_links.INTEGRATION_OPERATIONS,
    *transactions.INTEGRATION_OPERATIONS,
    *refunds.OPERATIONS,
    *sandbox.OPERATIONS,
    *balance_payments.INTEGRATION_OPERATIONS,
    *fulfillments.INTEGRATION_OPERATIONS,
    *reports.INTEGRATION_OPERATIONS,
    *settings.INTEGRATION_OPERATIONS,
    *webhooks.INTEGRATION_OPERATIONS,
    *withdrawals.INTEGRATION_OPERATIONS,
    *conversions.INTEGRATION_OPERATIONS,
]
