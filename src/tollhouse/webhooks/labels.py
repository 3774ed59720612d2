"""What the states of an event and the errors of an attempt mean, in the words of the pages and of docs/webhooks.md."""

from typing import Literal, NamedTuple

from tollhouse.kernel.limits import DELIVERY_DEADLINE_S, HELD_S


class Meaning(NamedTuple):
    """How a state is coloured, and a sentence about it."""

    tone: Literal["ok", "warn", "danger", ""]
    sentence: str


STATUSES = {
    "pending": Meaning("warn", "It waits to be sent."),
    "retrying": Meaning("warn", "An attempt failed, and the next one is planned."),
    "delivered": Meaning("ok", "The receiver has taken it."),
    "failed": Meaning("danger", "Every attempt failed, and no other one is planned."),
    "skipped": Meaning("", "It had no address to go to, or delivery was off. Nothing was sent."),
    "canceled": Meaning("", "Delivery was switched off while it waited, or no signing secret came in time."),
    "held": Meaning("warn", f"It waits for a signing secret, for {HELD_S // 3600} hours at most."),
}
ERRORS = {
    "dns_error": "The host name leads to no IPv4 address.",
    "connection_refused": "Nobody takes connections at this address.",
    "connection_reset": "The connection was closed before an answer came.",
    "connect_timeout": "No connection came about in time.",
    "tls_error": "The TLS connection failed: the certificate is not trusted, expired, or of another name.",
    "timeout": f"No answer came within {DELIVERY_DEADLINE_S} seconds.",
    "redirect_not_followed": "The answer was a redirect, and redirects are not followed.",
    "bad_response": "What came back is not HTTP.",
    "blocked_destination": "The address leads into a network to which nothing is sent.",
    "worker_lost": "The sending process died before it could note the answer. The receiver may have got the event.",
    "signing_secret_missing": "There was no signing secret to be used, and nothing is sent unsigned.",
}


def of_error(error: str | None) -> str:
    """A sentence about the error of an attempt; empty where there was none."""
    if error is None:
        return ""
    status = error.removeprefix("http_")
    return ERRORS.get(error, "") if status == error else f"The receiver answered {status}; only 200 to 299 counts as taken."
