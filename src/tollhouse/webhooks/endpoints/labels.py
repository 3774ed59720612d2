"""Descriptions of event statuses and attempt errors, shown by the dashboard and docs/webhook-reference.md."""

from tollhouse.kernel.limits import DELIVERY_DEADLINE_S, HELD_S
from tollhouse.kernel.text import Text, Translatable

STATUSES: dict[str, Translatable] = {
    "pending": "Waiting to be sent.",
    "retrying": "The last attempt failed. The next attempt is scheduled.",
    "delivered": "Delivered. The endpoint responded with a 2xx status.",
    "failed": "All attempts failed. No further attempt is scheduled.",
    "skipped": "Not sent: delivery was off, or there was no destination.",
    "canceled": "Not sent: delivery was turned off, or no signing secret was activated in time.",
    "held": Text("Waiting for a signing secret, for up to %(hours)s hours.", hours=HELD_S // 3600),
}
ERRORS: dict[str, Translatable] = {
    "dns_error": "The host name has no IPv4 address.",
    "connection_refused": "The endpoint refused the connection.",
    "connection_reset": "The endpoint closed the connection before it responded.",
    "connect_timeout": "The connection timed out.",
    "tls_error": "TLS failed: the certificate is untrusted, expired or for another host name.",
    "timeout": Text("The endpoint did not respond within %(seconds)s seconds.", seconds=DELIVERY_DEADLINE_S),
    "redirect_not_followed": "The endpoint responded with a redirect. Redirects are not followed.",
    "bad_response": "The response is not valid HTTP.",
    "blocked_destination": (
        "The address is in a private or reserved network, which TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS does not allow."
    ),
    "worker_lost": "The worker stopped before it recorded the result. The endpoint may have received the event.",
    "signing_secret_missing": "There is no usable signing secret. Events are never sent unsigned.",
}


NO_DESTINATION = "Not sent: the request had no webhook URL, and no URL was saved."
DELIVERY_OFF = "Not sent: delivery was turned off when the event happened."


def describe_status(status: str, destination_url: str | None) -> Translatable:
    """What the status of an event means, and why a skipped one was not sent."""
    if status == "skipped":
        return NO_DESTINATION if destination_url is None else DELIVERY_OFF
    return STATUSES[status]


def describe_error(error: str | None) -> Translatable:
    """A description of an attempt's error; empty without an error."""
    if error is None:
        return ""
    status = error.removeprefix("http_")
    if status == error:
        return ERRORS.get(error, "")
    return Text("The endpoint responded with status %(status)s. Only 200 to 299 counts as delivered.", status=status)
