"""The operations of this package."""

from tollhouse.transactions import api, balances_api, export_pages, link_pages, pages

INTEGRATION_OPERATIONS = [*api.OPERATIONS, *balances_api.OPERATIONS]
PAGE_OPERATIONS = [*pages.OPERATIONS, *export_pages.OPERATIONS, *link_pages.OPERATIONS]
