"""The file of a receipt. The PDF library is loaded when the first one is made."""

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.receipts.document import receipt_document
from tollhouse.receipts.model import Receipt


def receipt_file(receipt: Receipt, language: str, catalogue: Catalogue) -> bytes:
    """The PDF file of a receipt. Slow: run it in a thread."""
    from tollhouse.receipts.pdf import render_pdf  # noqa: PLC0415 - seldom used, slow to import

    return render_pdf(receipt_document(receipt, language, catalogue))
