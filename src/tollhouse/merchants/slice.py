"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.merchants import address_pages, api, business_pages, pages, password_pages, security_pages, session_pages

SLICE = Slice(
    operations=(
        *api.DASHBOARD_OPERATIONS,
        *api.INTEGRATION_OPERATIONS,
        *pages.OPERATIONS,
        *security_pages.OPERATIONS,
        *session_pages.OPERATIONS,
        *password_pages.OPERATIONS,
        *address_pages.OPERATIONS,
        *business_pages.OPERATIONS,
    ),
)
