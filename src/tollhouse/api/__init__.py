"""The HTTP surfaces: health, the API reference, and the operations of all slices."""

from tollhouse.api import choices, docs_pages, reference
from tollhouse.http.operations import PAGES, Operation
from tollhouse.slices import operations

OPERATIONS: list[Operation] = [
    *reference.described(),
    *operations(PAGES),
    *docs_pages.OPERATIONS,
    *choices.OPERATIONS,
]
