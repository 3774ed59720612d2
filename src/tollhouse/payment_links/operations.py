"""The operations of this package."""

from tollhouse.payment_links import api, catalogue_api, new_link_pages, pages

INTEGRATION_OPERATIONS = [*api.OPERATIONS, *catalogue_api.OPERATIONS]
PAGE_OPERATIONS = [*pages.OPERATIONS, *new_link_pages.OPERATIONS]
