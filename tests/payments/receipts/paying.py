"""What tests of receipts do again and again: pay, and get the page and the file."""

import io
from typing import Any

from pypdf import PdfReader

from tests.cast import Actor, Answer
from tests.payments.shop import choose, open_link, simulate

HTML = {"Accept": "text/html"}


async def paid(actor: Actor, outcome: str = "succeed", **changes: Any) -> str:
    """Pay a new link; the path of the page with the receipt."""
    link = await open_link(actor, **changes)
    return await pay_once_more(link, outcome)


async def pay_once_more(link: dict[str, Any], outcome: str = "succeed") -> str:
    """Pay this link; the path of the page with the receipt."""
    page = (await choose(link)).ok(303).location
    await simulate(link, outcome, payment=page.partition("payment=")[2])
    return page


def pdf_path(page: str) -> str:
    """The path of the file of this page's receipt."""
    return page.replace("?", "/receipt.pdf?")


async def read(actor: Actor, path: str, language: str = "en") -> Answer:
    """A page or file, as the customer gets it."""
    return await actor.anonymously("GET", path, headers={**HTML, "Accept-Language": language})


async def pdf(actor: Actor, page: str, language: str = "en") -> PdfReader:
    """The file of this page's receipt."""
    answer = (await read(actor, pdf_path(page), language)).ok()
    assert answer.headers["Content-Type"] == "application/pdf"
    return PdfReader(io.BytesIO(answer.raw))


async def text_of(actor: Actor, page: str, language: str = "en") -> str:
    """The text of the file, in one line."""
    reader = await pdf(actor, page, language)
    return " ".join(" ".join(page.extract_text() for page in reader.pages).split())


def payment_id(page: str) -> str:
    """The payment of this page."""
    return page.partition("payment=")[2]
