"""The dashboard's JSON, for people with a session."""

from tollhouse.balance_payments import dashboard_api as balance_payments
from tollhouse.http.operations import Operation
from tollhouse.merchants import api as merchants
from tollhouse.oauth import endpoints as oauth
from tollhouse.settings import projects_api as projects
from tollhouse.webhooks import api as webhooks

OPERATIONS: list[Operation] = [
    *merchants.DASHBOARD_OPERATIONS,
    *oauth.DASHBOARD_OPERATIONS,
    *balance_payments.DASHBOARD_OPERATIONS,
    *projects.DASHBOARD_OPERATIONS,
    *webhooks.DASHBOARD_OPERATIONS,
]
