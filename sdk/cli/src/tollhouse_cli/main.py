"""The commands and their options. What a command does is imported when it runs, so that help and completion are quick."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

EVENTS = (
    "payment.succeeded",
    "payment.failed",
    "payment.expired",
    "payment.refund_required",
    "payment.refunded",
    "payment.chargeback",
    "balance.updated",
    "withdrawal.processing",
    "withdrawal.completed",
    "withdrawal.failed",
    "conversion.completed",
)
PAGES = ("home", "payments", "links", "balances", "withdrawals", "events", "webhooks", "keys", "docs", "reference")
FAILED, INTERRUPTED = 1, 130
if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def parser() -> argparse.ArgumentParser:
    """All commands."""
    top = argparse.ArgumentParser(
        prog="tollhouse-cli",
        description="Tollhouse at the command line. Everything is in the test environment, unless you say --live.",
    )
    top.add_argument("--url", help="address of the service (default: that of the login, or TOLLHOUSE_URL)")
    top.add_argument("--live", action="store_true", help="use the live environment: real money")
    top.add_argument("--json", action="store_true", help="print JSON, one object in a line")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    login = _add(commands, "login", "store a credential, by a code in the browser or an API key", "login:login")
    login.add_argument("--key", metavar="KEY", help="an API key; - reads it from standard input")
    login.add_argument("--scope", action="append", metavar="SCOPE", help="a permission to ask for; can be repeated")
    _add(commands, "logout", "delete the stored credential", "login:logout")
    _add(commands, "account", "show the account of the credential", "calls:account")
    _add_events(commands)
    _add_calls(commands)
    page = _add(commands, "open", "open a page of the dashboard in the browser", "pages:open_page")
    page.add_argument("page", choices=PAGES, nargs="?", default="home")
    page.add_argument("--print", dest="print_only", action="store_true", help="print the address instead")
    shell = _add(commands, "completion", "print the completion of a shell", "completion:completion")
    shell.add_argument("shell", choices=("bash", "zsh", "fish"))
    return top


def _add_events(commands: "Commands") -> None:
    listen = _add(commands, "listen", "forward events to your machine, with their signatures", "listen:listen")
    listen.add_argument("--forward-to", required=True, metavar="URL", help="where your endpoint listens")
    listen.add_argument("--events", metavar="TYPES", help="only these types, separated by commas")
    listen.add_argument("--from-start", action="store_true", help="begin with the oldest event")
    listen.add_argument("--once", action="store_true", help="end when all events are forwarded")
    trigger = _add(commands, "trigger", "make an event happen in the test environment", "trigger:trigger")
    trigger.add_argument("event", choices=EVENTS, metavar="EVENT")
    trigger.add_argument("--amount", default="4.20")
    trigger.add_argument("--currency", default="EUR")
    trigger.add_argument("--webhook-url", metavar="URL", help="where the events of the object go")
    group = commands.add_parser("events", help="show events, or send one again").add_subparsers(
        required=True, metavar="WHAT"
    )
    tail = _add(group, "tail", "print events as they happen", "listen:tail")
    tail.add_argument("--events", metavar="TYPES", help="only these types, separated by commas")
    tail.add_argument("--from-start", action="store_true", help="begin with the oldest event")
    tail.add_argument("--once", action="store_true", help="end when all events are printed")
    again = _add(group, "resend", "deliver an event again", "calls:resend")
    again.add_argument("event_id")
    logs = commands.add_parser("logs", help="show requests, or deliveries of webhooks").add_subparsers(
        required=True, metavar="WHAT"
    )
    for name, about in (
        ("tail", "print API requests as they are logged"),
        ("deliveries", "print deliveries as they change"),
    ):
        _add(logs, name, about, f"logs:{name}").add_argument("--once", action="store_true", help="end after what is there")


def _add_calls(commands: "Commands") -> None:
    links = commands.add_parser("links", help="create payment links").add_subparsers(required=True, metavar="WHAT")
    create = _add(links, "create", "create a payment link", "calls:create_link")
    create.add_argument("--name", default="Test payment", help="what is sold")
    create.add_argument("--amount", required=True)
    create.add_argument("--currency", default="EUR")
    create.add_argument("--webhook-url", metavar="URL")
    for method in ("get", "post", "put", "delete"):
        call = _add(commands, method, f"{method.upper()} any path of the Integration API", "calls:call")
        call.add_argument("path", help="such as /payment-links")
        call.add_argument("-q", "--query", action="append", default=[], metavar="NAME=VALUE")
        if method in {"post", "put"}:
            call.add_argument("-d", "--data", action="append", default=[], metavar="NAME=VALUE", help="a member of the body")
            call.add_argument("--body", metavar="JSON", help="the body; - reads it from standard input")
        if method == "post":
            call.add_argument("--idempotency-key", metavar="KEY")


def _add(commands: "Commands", name: str, about: str, runs: str) -> argparse.ArgumentParser:
    added = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    added.set_defaults(runs=runs, method=name)
    return added


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is its exit status."""
    options = parser().parse_args(arguments)
    module, _, function = str(options.runs).partition(":")
    failures: tuple[type[Exception], ...] = (OSError,)
    try:
        command = importlib.import_module(f"tollhouse_cli.{module}")
        if "tollhouse_sdk" in sys.modules:
            failures = (OSError, ValueError, sys.modules["tollhouse_sdk"].TollhouseError)
        return int(getattr(command, function)(options) or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except failures as problem:
        print(f"tollhouse-cli: {problem}", file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
