"""Requests of the API as they are logged, and deliveries of webhooks whenever their state changes."""

import argparse
import time
from itertools import islice

from tollhouse_cli.config import client
from tollhouse_cli.output import show

POLL_S = 2.0
LAST = 100


def tail(options: argparse.Namespace) -> None:
    """Print the last requests that the credential may see, and then each that is logged, which can be out of order."""
    seen: set[str] = set()
    with client(options) as tollhouse:
        while True:
            logged = tollhouse.read_request_log(limit=LAST)["requests"]
            for entry in reversed([entry for entry in logged if entry["id"] not in seen]):
                result = f"{entry['status']} {entry['error'] or ''}".rstrip()
                line = f"{entry['created_at']} {entry['method']} {entry['path']} {result} ({entry['duration_ms']} ms)"
                show(options, entry, f"{line} {entry['request_id']}")
            seen = {entry["id"] for entry in logged}
            if options.once:
                return
            time.sleep(POLL_S)


def deliveries(options: argparse.Namespace) -> None:
    """Print the last deliveries, and then each that changes."""
    seen: dict[str, tuple[str, int]] = {}
    with client(options) as tollhouse:
        while True:
            for event in reversed(list(islice(tollhouse.iterate_events(), LAST))):
                state = (event["status"], event["attempts"])
                if seen.get(event["id"]) != state:
                    seen[event["id"]] = state
                    where = event["destination_url"] or "no destination"
                    line = f"{event['created_at']} {event['type']} {event['id']} {state[0]} ({state[1]} attempts) {where}"
                    show(options, event, line)
            if options.once:
                return
            time.sleep(POLL_S)
