"""All operations of the operators' pages."""

from tollhouse.console import (
    application_pages,
    delivery_pages,
    mail_pages,
    merchant_pages,
    pages,
    payout_pages,
    project_pages,
    review_pages,
    security_pages,
    statement_pages,
)
from tollhouse.http.operations import Operation

OPERATIONS: list[Operation] = [
    *pages.OPERATIONS,
    *merchant_pages.OPERATIONS,
    *application_pages.OPERATIONS,
    *project_pages.OPERATIONS,
    *delivery_pages.OPERATIONS,
    *mail_pages.OPERATIONS,
    *security_pages.OPERATIONS,
    *review_pages.OPERATIONS,
    *statement_pages.OPERATIONS,
    *payout_pages.OPERATIONS,
]
