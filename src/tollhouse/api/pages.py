"""The pages: sign-in, dashboard, consent, checkout, console, documentation."""

from tollhouse.api import choices, reference_pages
from tollhouse.audit_log import pages as audit_log
from tollhouse.balance_payments import operations as balance_payments
from tollhouse.checkout import pages as checkout
from tollhouse.console import operations as console
from tollhouse.conversions import operations as conversions
from tollhouse.docs import pages as guide
from tollhouse.fulfillments import operations as fulfillments
from tollhouse.http.operations import Operation
from tollhouse.ledger_pages import pages as ledger
from tollhouse.merchants import address_pages, business_pages, password_pages, security_pages, session_pages
from tollhouse.merchants import pages as merchants
from tollhouse.oauth import endpoints as oauth
from tollhouse.overview import pages as overview
from tollhouse.payment_links import operations as payment_links
from tollhouse.refunds import pages as refunds
from tollhouse.reports import pages as reports
from tollhouse.request_log import pages as request_log
from tollhouse.sandbox import sample_pages
from tollhouse.settings import payment_pages, project_pages
from tollhouse.transactions import operations as transactions
from tollhouse.webhooks import pages as webhooks
from tollhouse.webhooks import run_pages as webhook_runs
from tollhouse.withdrawals import operations as withdrawals

OPERATIONS: list[Operation] = [
    *merchants.OPERATIONS,
    *security_pages.OPERATIONS,
    *session_pages.OPERATIONS,
    *password_pages.OPERATIONS,
    *address_pages.OPERATIONS,
    *overview.OPERATIONS,
    *ledger.OPERATIONS,
    *reports.OPERATIONS,
    *project_pages.OPERATIONS,
    *payment_pages.OPERATIONS,
    *business_pages.OPERATIONS,
    *oauth.PAGE_OPERATIONS,
    *checkout.OPERATIONS,
    *payment_links.PAGE_OPERATIONS,
    *transactions.PAGE_OPERATIONS,
    *refunds.OPERATIONS,
    *sample_pages.OPERATIONS,
    *withdrawals.PAGE_OPERATIONS,
    *conversions.PAGE_OPERATIONS,
    *balance_payments.PAGE_OPERATIONS,
    *fulfillments.PAGE_OPERATIONS,
    *webhooks.OPERATIONS,
    *webhook_runs.OPERATIONS,
    *request_log.OPERATIONS,
    *audit_log.OPERATIONS,
    *console.OPERATIONS,
    *guide.OPERATIONS,
    *reference_pages.OPERATIONS,
    *choices.OPERATIONS,
]
