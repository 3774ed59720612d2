"""The HTTP surfaces. Each module lists the operations of its surface."""

from tollhouse.api import dashboard, health, integration, oauth, pages, reference
from tollhouse.http.operations import Operation

OPERATIONS: list[Operation] = [
    *health.OPERATIONS,
    *reference.OPERATIONS,
    *oauth.OPERATIONS,
    *integration.OPERATIONS,
    *dashboard.OPERATIONS,
    *pages.OPERATIONS,
]
