"""A house with a bank and no worker, where every kind of row was written: damage is done to it and undone."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
import pytest

from tests.cast import Actor, sign_up
from tests.payments.bank import play, refund, sell
from tests.rails.bank import camt
from tests.rails.bank.camt import Line
from tests.rails.bank.steps import Bank, earned, withdrawn
from tests.running import CATALOGUE, Service, settings_for
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.instance.checks.run import SETTINGS
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.ledger.hash_chain import chain
from tollhouse.pages.console import actions
from tollhouse.platform.database.pool import DatabaseConnection, Tx, connect


@pytest.fixture(scope="package")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service of these tests' own."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT), worker=False) as running:
        yield running


@pytest.fixture(scope="package")
async def shop(still: Service) -> AsyncIterator[Actor]:
    """A merchant with payments in and out, in both modes, by whom everything was done once."""
    services = still.create_services(connections=4)
    async with sign_up(still, "shop", "The Shop") as actor:
        disputed, paid = await sell(actor), await sell(actor)
        await sell(actor, "late")
        (await refund(actor, paid, "3.00")).ok(201)
        (await play(actor, disputed, "chargeback")).ok()
        bank = Bank(services)
        await earned(actor, bank, "20.00")
        await withdrawn(actor, bank, "4.00")
        await bank.shows(Line(777, words="Nobody knows", name="A stranger"))
        env, context = (
            MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live"),
            OperatorContext("olga", clock.now(), "Goodwill"),
        )
        await services.transact(
            lambda work: actions.adjust(work, env, CATALOGUE.currencies["EUR"], 500, context), context.at
        )
        await chain.append(still.dsn, services.keys, context.at)
        yield actor
    await services.db.close()


@pytest.fixture(scope="package")
async def connection(shop: Actor) -> AsyncIterator[Tx]:
    """A connection to its database, on which each statement is prepared once."""
    raw = await connect(shop.service.dsn, settings=SETTINGS)
    yield Tx(DatabaseConnection(raw))
    await raw.close()


@asynccontextmanager
async def undone(tx: Tx) -> AsyncIterator[Tx]:
    """A transaction whose work is thrown away, in one snapshot."""
    spoilt = tx.raw.transaction(isolation="repeatable_read")
    await spoilt.start()
    try:
        yield tx
    finally:
        await spoilt.rollback()


@pytest.fixture
def quiet(server: embedded.Server) -> Iterator[Service]:
    """A service without a worker, on a database in which nothing was checked yet."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def seller(quiet: Service) -> AsyncIterator[Actor]:
    """A merchant who sold once."""
    async with sign_up(quiet, "shop", "The Shop") as actor:
        await sell(actor)
        yield actor


@pytest.fixture
async def forger(quiet: Service) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection that no trigger and no foreign key stops, on which the past can be changed."""
    connection = await asyncpg.connect(quiet.dsn)
    await connection.execute("SET session_replication_role = replica")
    yield connection
    await connection.close()
