"""`tollhouse demo`: the service with sample data, and the wallet that pays its checkout."""

import asyncio
import os
from functools import partial
from typing import Annotated, Literal

import msgspec
from cyclopts import App, Parameter

from tollhouse.instance import supervisor
from tollhouse.instance.cli.options import Host, Port, give_up_rights, settings_for
from tollhouse.instance.forks import run_supervised
from tollhouse.platform.server import listening
from tollhouse.platform.settings import config

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
RailName = Literal["evm"]

app = App(name="demo", help="Run the service with sample data, and print what to open.")


@app.default
def demo(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    receiver_port: Annotated[int, Parameter(help="Port of the page that shows received webhooks.")] = 8001,
    rail: Annotated[
        RailName | None,
        Parameter(help="Also run a test network, take live payments on it and pay withdrawals. Needs anvil."),
    ] = None,
    anvil: Annotated[str, Parameter(help="Program of the test network's node.")] = "anvil",
) -> int:
    """Run the service with a sample merchant, application and payment link, and print their addresses.

    The data folder is separate from that of `serve`: its name ends in `-demo`.
    With --rail, it ends in `-demo-evm`, and each start removes its data.
    """
    from tollhouse.instance.demo import network  # noqa: PLC0415 - imported when it is used
    from tollhouse.instance.demo.run import run  # noqa: PLC0415

    os.environ.setdefault("TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8")
    settings, node = settings_for_demo(port, rail), None
    if rail is not None:
        if host not in LOOPBACK or not settings.is_local:
            raise config.InvalidSettingsError(["The demo's live mode takes worthless money. Use --host 127.0.0.1."])
        node = network.find_node(anvil)
        os.environ["TOLLHOUSE_RAILS_FILE"] = str(settings.data_dir / network.RAILS_FILE)
    with listening.bind(host, port) as listener:
        give_up_rights(settings)
        how = supervisor.Serve(listener, 1)
        return run_supervised(partial(run, settings, how, receiver_port, node), listener.fileno())


@app.command
def pay(
    url: Annotated[str, Parameter(help="The payment link, or the page of the payment.")],
    /,
    *,
    amount: Annotated[
        str | None, Parameter(help="Pay another amount, such as 12.5, in the currency of the payment.")
    ] = None,
) -> int:
    """Pay a checkout page of `tollhouse demo --rail evm` from a customer's wallet on the test network."""
    from tollhouse.instance.demo import wallet  # noqa: PLC0415

    asyncio.run(wallet.pay(settings_for_demo(0, "evm").data_dir, url, amount))
    return 0


def settings_for_demo(port: int, rail: RailName | None = None) -> config.Settings:
    """The settings with the demo's own data folder, which never holds real data."""
    settings = settings_for(port)
    if settings.database_url is not None:
        raise config.InvalidSettingsError(["tollhouse demo uses an embedded database. Unset DATABASE_URL."])
    folder = settings.data_dir.absolute()
    name = f"{folder.name}-demo" if rail is None else f"{folder.name}-demo-{rail}"
    return msgspec.structs.replace(settings, data_dir=folder.with_name(name), wal_archive=None, secret_keys=())
