"""Single requests: any path, the account, a payment link, an event again."""

import argparse
import json
import sys
from typing import Any

from tollhouse_cli.config import client
from tollhouse_cli.output import show
from tollhouse_sdk.requests import new_key


def call(options: argparse.Namespace) -> None:
    """Any request of the Integration API."""
    query: dict[str, list[str]] = {}
    for name, value in map(_pair, options.query):
        query.setdefault(name, []).append(value)
    path = "/" + options.path.removeprefix("/api/v2/integration").lstrip("/")
    key = (options.idempotency_key or new_key()) if options.method == "post" else None
    body = _body(options) if options.method in {"post", "put"} else None
    with client(options) as tollhouse:
        show(options, tollhouse.request(options.method.upper(), path, query=query, body=body, idempotency_key=key))


def _body(options: argparse.Namespace) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if options.body is not None:
        body = json.loads(sys.stdin.read() if options.body == "-" else options.body)
    return body | dict(_pair(text) for text in options.data)


def _pair(text: str) -> tuple[str, str]:
    name, is_pair, value = text.partition("=")
    if not is_pair:
        raise ValueError(f"{text!r} is not NAME=VALUE.")
    return name, value


def account(options: argparse.Namespace) -> None:
    """The account of the credential."""
    with client(options) as tollhouse:
        found = tollhouse.account()
    show(options, found, f"{found['business_name']} ({found['mode']}), merchant {found['merchant_id']}")


def create_link(options: argparse.Namespace) -> None:
    """A payment link."""
    body = {"display_name": options.name, "amount": options.amount, "currency": options.currency}
    if options.webhook_url:
        body["webhook_url"] = options.webhook_url
    with client(options) as tollhouse:
        link = tollhouse.request("POST", "/payment-links", body=body, idempotency_key=new_key())
    show(options, link, link["url"])


def resend(options: argparse.Namespace) -> None:
    """Deliver an event again."""
    with client(options) as tollhouse:
        event = tollhouse.redeliver_event(options.event_id)
    show(options, event, f"{event['type']} {event['id']} is delivered again to {event['destination_url']}.")
