"""The pages of this slice."""

from tollhouse.balance_payments import owner_pages, pages

PAGE_OPERATIONS = [*pages.OPERATIONS, *owner_pages.OPERATIONS]
