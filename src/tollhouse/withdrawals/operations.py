"""The operations of this slice."""

from tollhouse.withdrawals import api, new_pages, pages, sandbox_api

INTEGRATION_OPERATIONS = [*api.OPERATIONS, *sandbox_api.OPERATIONS]
PAGE_OPERATIONS = [*pages.OPERATIONS, *new_pages.OPERATIONS]
