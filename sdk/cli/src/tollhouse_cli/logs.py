"""Deliveries of webhooks, printed whenever their state changes."""

import argparse
import time
from itertools import islice

from tollhouse_cli.config import client
from tollhouse_cli.output import show

POLL_S = 2.0
LAST = 100


def tail(options: argparse.Namespace) -> None:
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
