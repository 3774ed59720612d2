"""Everything this slice offers at its doors."""

from tollhouse.payments import api, balances_api, offers_api, pages, refunds_api, sandbox_api

INTEGRATION_OPERATIONS = [
    *api.OPERATIONS,
    *refunds_api.OPERATIONS,
    *balances_api.OPERATIONS,
    *offers_api.OPERATIONS,
    *sandbox_api.OPERATIONS,
]
PAGE_OPERATIONS = [*pages.OPERATIONS]
