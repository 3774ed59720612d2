"""Everything this slice offers at its doors."""

from tollhouse.payments import api, balances_api, offers_api, pages

INTEGRATION_OPERATIONS = [*api.OPERATIONS, *balances_api.OPERATIONS, *offers_api.OPERATIONS]
PAGE_OPERATIONS = [*pages.OPERATIONS]
