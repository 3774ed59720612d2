"""The file of a receipt. The PDF library is loaded when the first one is made."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.payments.receipts.document import receipt_document
from tollhouse.payments.receipts.model import Receipt

RENDERER = ThreadPoolExecutor(1, "receipt")
"""Anybody with the address of a receipt can ask for its file: a process makes one at a time, and nothing else waits."""


async def receipt_file(receipt: Receipt, language: str, catalogue: Catalogue) -> bytes:
    """The PDF file of a receipt."""
    return await asyncio.get_running_loop().run_in_executor(RENDERER, _render, receipt, language, catalogue)


def _render(receipt: Receipt, language: str, catalogue: Catalogue) -> bytes:
    from tollhouse.payments.receipts.pdf import render_pdf  # noqa: PLC0415 - seldom used, slow to import

    return render_pdf(receipt_document(receipt, language, catalogue))
