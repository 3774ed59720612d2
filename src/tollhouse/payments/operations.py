"""Everything this slice offers at its doors."""

from tollhouse.payments import (
    api,
    balances_api,
    export_pages,
    link_pages,
    new_link_pages,
    offers_api,
    pages,
    payment_pages,
    refund_pages,
    refunds_api,
    sample_pages,
    sandbox_api,
)

INTEGRATION_OPERATIONS = [
    *api.OPERATIONS,
    *refunds_api.OPERATIONS,
    *balances_api.OPERATIONS,
    *offers_api.OPERATIONS,
    *sandbox_api.OPERATIONS,
]
PAGE_OPERATIONS = [
    *pages.OPERATIONS,
    *payment_pages.OPERATIONS,
    *refund_pages.OPERATIONS,
    *export_pages.OPERATIONS,
    *link_pages.OPERATIONS,
    *new_link_pages.OPERATIONS,
    *sample_pages.OPERATIONS,
]
