"""The HTTP surfaces: health, the API reference, and the operations of all slices."""

from tollhouse.api import choices, reference, reference_pages
from tollhouse.http.operations import PAGES, Operation
from tollhouse.slices import operations

OPERATIONS: list[Operation] = [
    *reference.described(),
    *operations(PAGES),
    *reference_pages.OPERATIONS,
    *choices.OPERATIONS,
]
