"""All operations of the operators' pages."""

from tollhouse.operator import (
    application_pages,
    delivery_pages,
    mail_pages,
    merchant_pages,
    pages,
    project_pages,
    security_pages,
)
from tollhouse.web.operations import Operation

OPERATIONS: list[Operation] = [
    *pages.OPERATIONS,
    *merchant_pages.OPERATIONS,
    *application_pages.OPERATIONS,
    *project_pages.OPERATIONS,
    *delivery_pages.OPERATIONS,
    *mail_pages.OPERATIONS,
    *security_pages.OPERATIONS,
]
