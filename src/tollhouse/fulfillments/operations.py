"""The pages of this slice."""

from tollhouse.fulfillments import new_pages, pages

PAGE_OPERATIONS = [*pages.OPERATIONS, *new_pages.OPERATIONS]
