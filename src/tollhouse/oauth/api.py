"""Applications and connections as the dashboard's JSON shows them."""

from datetime import datetime

from msgspec import Struct

from tollhouse.callers.guards import signed_in
from tollhouse.callers.model import Person
from tollhouse.kernel.refusals import NotFound, ValidationFailed
from tollhouse.oauth import clients, clients_store, settings
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ClientView
from tollhouse.oauth.settings import SettingsBody
from tollhouse.platform.db import Pool, Tx
from tollhouse.web.house import House
from tollhouse.web.operations import DASHBOARD, Operations

DASHBOARD_OPERATIONS = Operations(DASHBOARD)


class ClientList(Struct, frozen=True):
    """The caller's applications, newest first, revoked ones included."""

    clients: list[ClientView]


class ClientDetails(Struct, frozen=True):
    """One application, and what its developers need to connect merchants."""

    client: ClientView
    issuer: str
    authorization_endpoint: str
    token_endpoint: str


@DASHBOARD_OPERATIONS.add("GET", "/oauth/clients", guard=signed_in)
async def list_clients(caller: Person, db: Pool, now: datetime) -> ClientList:
    """The caller's applications, newest first, revoked ones included."""
    return ClientList(await clients_store.owned(db, caller.merchant_id, now))


@DASHBOARD_OPERATIONS.add("POST", "/oauth/clients", guard=signed_in, status=201, refuses=(ValidationFailed,))
async def register_client(caller: Person, body: SettingsBody, tx: Tx, now: datetime) -> ClientView:
    """Make an application. The secret of a confidential one is in this answer, and in no other."""
    return await clients.register(tx, caller.merchant_id, settings.check_new(body), now)


@DASHBOARD_OPERATIONS.add("GET", "/oauth/clients/{client_id}", guard=signed_in, refuses=(NotFound,))
async def show_client(caller: Person, client_id: str, db: Pool, house: House, now: datetime) -> ClientDetails:
    """One application, and where to send merchants and get tokens."""
    client = await clients_store.owned_one(db, caller.merchant_id, client_id, now)
    if client is None:
        raise NotFound
    issuer = house.settings.base_url
    return ClientDetails(client, issuer, authorization_endpoint(issuer), token_endpoint(issuer))
