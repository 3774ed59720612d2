"""Events as they happen: forwarded to an endpoint, or printed."""

import argparse
import hashlib
import sys

from tollhouse_cli import config
from tollhouse_cli.listening import Listener, end_of
from tollhouse_cli.output import show
from tollhouse_sdk import Feed, FileCheckpoint, MemoryCheckpoint, Reading


def listen(options: argparse.Namespace) -> None:
    """Forward events. Run again, it goes on with the first that it has not forwarded."""
    mode, url = config.mode_of(options), config.url_of(options)
    name = hashlib.sha256(f"{url} {mode} {options.forward_to}".encode()).hexdigest()[:16]
    checkpoint = FileCheckpoint(config.folder() / f"listen-{name}.json")
    with config.client(options) as tollhouse:
        listener = Listener(tollhouse, options.forward_to, checkpoint, _types(options))
        if not options.from_start:
            listener.begin_at_end()
        print(f"Forwarding {mode} events of {url} to {options.forward_to}", file=sys.stderr, flush=True)
        for one in listener.forwarded(follow=not options.once):
            said = one.status if one.error is None else one.error
            unsigned = "" if one.event.headers else ", unsigned: there is no signing secret"
            result = {"position": one.event.position, "id": one.event.id, "type": one.event.type, "status": one.status}
            show(options, result | {"error": one.error}, f"{one.event.type} {one.event.id} -> {said}{unsigned}")
        listener.close()


def tail(options: argparse.Namespace) -> None:
    """Print events."""
    with config.client(options) as tollhouse:
        checkpoint = MemoryCheckpoint() if options.from_start else MemoryCheckpoint(end_of(tollhouse))
        for event in Feed(tollhouse, checkpoint, Reading(_types(options))).events(follow=not options.once):
            show(options, event.payload, f"{event.created_at} {event.position} {event.type} {event.id}")


def _types(options: argparse.Namespace) -> list[str]:
    return [name.strip() for name in options.events.split(",")] if options.events else []
