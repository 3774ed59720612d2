"""Pages of the dashboard in the browser."""

import argparse
import webbrowser

from tollhouse_cli.config import mode_of, url_of

PATHS = {
    "home": "/{mode}/home",
    "payments": "/{mode}/payments",
    "links": "/{mode}/payment-links",
    "balances": "/{mode}/balances",
    "withdrawals": "/{mode}/withdrawals",
    "events": "/{mode}/developers/events",
    "webhooks": "/{mode}/developers/webhooks",
    "keys": "/{mode}/developers/keys",
    "docs": "/docs",
    "reference": "/docs/api",
}


def open_page(options: argparse.Namespace) -> None:
    """Open a page."""
    address = url_of(options).rstrip("/") + PATHS[options.page].format(mode=mode_of(options))
    if options.print_only or not webbrowser.open(address):
        print(address)
