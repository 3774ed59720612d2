"""The receipt of a payment at checkout: its PDF file.

The address is as secret as that of the paid page: the link's token, and for links that can be paid several times the ID of
the payment. Nobody gets the receipt of another customer's payment.
"""

import asyncio
from datetime import datetime

from starlette.responses import Response

from tollhouse.checkout.pages import named_attempt
from tollhouse.checkout.state import load_checkout, load_own_receipt
from tollhouse.http.csv_table import attachment
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.identity.guards import payer
from tollhouse.kernel.errors import NotFound
from tollhouse.platform.db import Pool
from tollhouse.receipts.files import receipt_file
from tollhouse.receipts.model import Receipt

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/pay/{token}/receipt.pdf", guard=payer, errors=(NotFound,))
async def receipt_pdf(request: Request, token: str, db: Pool, now: datetime) -> Response:
    """The receipt as a PDF file."""
    receipt = await _receipt(request, token, db, now)
    made = await asyncio.to_thread(receipt_file, receipt, language_of(request), request.services.catalogue)
    return Response(made, 200, {**attachment(receipt.file_name), "Cache-Control": "private, no-store"}, "application/pdf")


async def _receipt(request: Request, token: str, db: Pool, now: datetime) -> Receipt:
    """The receipt of the payment in the URL, which must be one of this link. Raises `NotFound`."""
    named = named_attempt(request)
    found = await load_checkout(db, token, named, now)
    receipt = await load_own_receipt(db, found, now)
    if receipt is None or (named is not None and not found.own):
        raise NotFound
    return receipt
