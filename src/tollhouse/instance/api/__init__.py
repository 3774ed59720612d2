"""The HTTP surfaces: health, the API reference, and the operations of all slices."""

from tollhouse.http.operations import PAGES, RAILS, Operation
from tollhouse.instance.api import choices, docs_pages, reference
from tollhouse.instance.mcp import api as mcp
from tollhouse.instance.slices import operations

OPERATIONS: list[Operation] = [
    *reference.described(),
    *operations(PAGES, RAILS),
    *docs_pages.OPERATIONS,
    *choices.OPERATIONS,
    *mcp.OPERATIONS,
]
