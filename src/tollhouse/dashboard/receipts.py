"""The receipt of a payment in the dashboard: its PDF file."""

import asyncio
from uuid import UUID

from starlette.responses import Response

from tollhouse.http.csv_table import attachment
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.errors import NotFound
from tollhouse.receipts.actions import load_receipt
from tollhouse.receipts.files import receipt_file

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/{mode}/payments/{transaction_id}/receipt.pdf", guard=signed_in_page)
async def receipt_pdf(request: Request, caller: Person, mode: str, transaction_id: UUID) -> Response:
    """The receipt as a PDF file, in the language of the dashboard."""
    receipt = await load_receipt(request.services.db, caller.env(mode), transaction_id, request.now)
    if receipt is None:
        raise NotFound
    made = await asyncio.to_thread(receipt_file, receipt, language_of(request), request.services.catalogue)
    return Response(made, 200, attachment(receipt.file_name), "application/pdf")
