"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.payment_links import api, catalogue_api, new_link_pages, pages

SLICE = Slice(operations=(*api.OPERATIONS, *catalogue_api.OPERATIONS, *pages.OPERATIONS, *new_link_pages.OPERATIONS))
