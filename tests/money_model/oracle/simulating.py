"""What the simulator makes of a payment, told to the books: the outcomes of the test endpoints, and the telling amounts."""

from tests.money_model.oracle.balances import RefusedError
from tests.money_model.oracle.books import Books
from tests.money_model.oracle.payments import Payment

DECLINED, SLOW, UNDERPAID, THEN_DISPUTED, REFUND_FAILS = (2, 9995), 77, 4040, 259, 5150
TELLING = (*DECLINED, SLOW, UNDERPAID, THEN_DISPUTED, REFUND_FAILS)
"""The last four digits of an amount in minor units that have a meaning of their own."""


def simulate(books: Books, payment: Payment, outcome: str, minor: int | None) -> None:
    """Let this happen in the books. Raises `RefusedError`."""
    match outcome:
        case "late":
            _pay_late(books, payment, minor)
        case "duplicate":
            _pay_twice(books, payment, minor)
        case "chargeback":
            if payment.status in {"pending", "processing"}:
                _require_payable(books, payment)
                books.arrive(payment, payment.left)
            books.charge_back(payment, minor)
        case "chargeback_won" | "chargeback_lost":
            books.decide(payment, won=outcome == "chargeback_won")
        case _:
            _require_payable(books, payment)
            _follow(books, payment, outcome, minor)


def _follow(books: Books, payment: Payment, outcome: str, minor: int | None) -> None:
    """What can happen to an open payment."""
    match outcome:
        case "succeed":
            _succeed(books, payment, minor)
        case "fail":
            books.fail(payment)
        case "expire":
            books.expire(payment.link)
        case "processing":
            books.be_seen(payment)
        case "underpay":
            books.arrive(payment, minor or payment.left - max(1, payment.left // 100) or payment.left)
        case _:
            books.arrive(payment, minor or payment.left + max(1, payment.left // 10))


def _pay_late(books: Books, payment: Payment, minor: int | None) -> None:
    if payment.status not in {"pending", "expired", "failed"}:
        raise RefusedError("invalid_state")
    if payment.link.status == "active":
        books.expire(payment.link)
    books.arrive(payment, minor or payment.left)


def _pay_twice(books: Books, payment: Payment, minor: int | None) -> None:
    if payment.status in {"pending", "processing"}:
        _require_payable(books, payment)
        books.arrive(payment, payment.left)
    elif payment.status not in {"succeeded", "partially_refunded"}:
        raise RefusedError("invalid_state")
    books.arrive(payment, minor or payment.amount)


def _succeed(books: Books, payment: Payment, minor: int | None) -> None:
    telling = None if minor or payment.received or payment.status == "processing" else payment.left % 10_000
    if telling in DECLINED:
        books.fail(payment)
    elif telling == SLOW:
        books.be_seen(payment)
    elif telling == UNDERPAID:
        books.arrive(payment, payment.left - payment.left // 100)
    else:
        books.arrive(payment, minor or payment.left)


def _require_payable(books: Books, payment: Payment) -> None:
    """Who pays after the link's time pays late, and says so."""
    over = payment.status == "pending" and books.standing(payment.link) == "expired"
    if over or payment.status not in {"pending", "processing"}:
        raise RefusedError("invalid_state")
