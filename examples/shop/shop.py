"""A shop: orders are paid on hosted checkout pages, webhooks say when, and a payment can be refunded."""

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tollhouse_sdk import ApiError, SignatureInvalid, Tollhouse, verify

PRODUCTS = {"beans": ("Coffee beans", "14.90"), "cup": ("Cup", "9.50")}
TABLES = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, product TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open',
    payment_id TEXT, sequence INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS seen_events (id TEXT PRIMARY KEY);
"""
STATUSES = {"payment.succeeded": "paid", "payment.refunded": "refunded", "payment.chargeback": "disputed"}


@dataclass(frozen=True)
class Shop:
    """What the shop is configured with."""

    service: str
    api_key: str
    webhook_secret: str
    public_url: str
    admin_token: str
    database: Path

    @classmethod
    def from_environment(cls) -> "Shop":
        """Read the settings; a missing one is an error at the start."""
        return cls(
            service=os.environ["TOLLHOUSE_URL"],
            api_key=os.environ["TOLLHOUSE_KEY"],
            webhook_secret=os.environ["TOLLHOUSE_WEBHOOK_SECRET"],
            public_url=os.environ["SHOP_URL"],
            admin_token=os.environ["SHOP_ADMIN_TOKEN"],
            database=Path(os.environ.get("SHOP_DATABASE", "shop.db")),
        )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed at the end, rolled back after an exception."""
        connection = sqlite3.connect(self.database, timeout=30, isolation_level=None)
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()

    def order(self, order_id: str) -> dict[str, Any]:
        """An order; 404 where there is none."""
        with self.transaction() as database:
            row = database.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
        if row is None:
            raise HTTPException(404, "There is no such order.")
        return dict(row)


def create_app(shop: Shop) -> FastAPI:
    """The application, with its tables."""
    app = FastAPI(title="Corner Shop")
    tollhouse = Tollhouse(shop.service, shop.api_key)
    connection = sqlite3.connect(shop.database)
    connection.executescript(TABLES)
    connection.close()
    add_pages(app, shop)
    add_payments(app, shop, tollhouse)
    add_webhooks(app, shop)
    return app


def add_pages(app: FastAPI, shop: Shop) -> None:
    """What customers see."""

    @app.get("/", response_class=HTMLResponse)
    def catalogue() -> str:
        rows = "".join(
            f'<li>{name}, EUR {price} <form method="post" action="/orders/{product}"><button>Buy {name}</button></form></li>'
            for product, (name, price) in PRODUCTS.items()
        )
        return f"<!doctype html><title>Corner Shop</title><h1>Corner Shop</h1><ul>{rows}</ul>"

    @app.get("/orders/{order_id}", response_class=HTMLResponse)
    def show(order_id: str) -> str:
        order = shop.order(order_id)
        name, price = PRODUCTS[order["product"]]
        return f"<!doctype html><title>Your order</title><h1>{name}, EUR {price}</h1><p>Status: {order['status']}</p>"


def add_payments(app: FastAPI, shop: Shop, tollhouse: Tollhouse) -> None:
    """Buying, and giving the money back."""

    @app.post("/orders/{product}")
    def buy(product: str) -> RedirectResponse:
        """Store the order, then create its payment link: a repeated request with the order's ID makes no second one."""
        if product not in PRODUCTS:
            raise HTTPException(404, "There is no such product.")
        order_id, (name, price) = str(uuid4()), PRODUCTS[product]
        with shop.transaction() as database:
            database.execute("INSERT INTO orders (id, product) VALUES (?, ?)", (order_id, product))
        link = tollhouse.open_link(
            display_name=name,
            amount=price,
            currency="EUR",
            external_id=order_id,
            webhook_url=f"{shop.public_url}/webhooks",
            success_url=f"{shop.public_url}/orders/{order_id}",
            idempotency_key=order_id,
        )
        return RedirectResponse(link["url"], 303)

    @app.post("/orders/{order_id}/refund")
    def refund(order_id: str, request: Request) -> dict[str, Any]:
        """Refund the whole payment. The key is made of the order's ID, so that a second click refunds nothing more."""
        given = request.headers.get("Authorization", "")
        if not secrets.compare_digest(given.encode(), f"Bearer {shop.admin_token}".encode()):
            raise HTTPException(401, "Send the administrator's token.")
        order = shop.order(order_id)
        if order["payment_id"] is None:
            raise HTTPException(409, "The order is not paid.")
        try:
            refunded = tollhouse.request_refund(
                order["payment_id"], reason="customer_request", idempotency_key=f"refund-{order_id}"
            )
        except ApiError as error:
            raise HTTPException(409, error.description) from error
        return {"refund_id": refunded["id"], "status": refunded["status"]}


def add_webhooks(app: FastAPI, shop: Shop) -> None:
    """Where the service says what happened."""

    @app.post("/webhooks")
    async def receive(request: Request) -> Response:
        """Verify the raw body, and store what it says once, in one transaction with the event's ID."""
        body = await request.body()
        try:
            verify(body, request.headers, shop.webhook_secret)
        except SignatureInvalid:
            return Response(status_code=400)
        record(shop, json.loads(body))
        return Response(status_code=204)


def record(shop: Shop, event: dict[str, Any]) -> None:
    """Update the order, unless the event was seen before or is older than the last one."""
    payment, status = event["data"].get("object", {}), STATUSES.get(event["type"])
    with shop.transaction() as database:
        if database.execute("INSERT INTO seen_events VALUES (?) ON CONFLICT DO NOTHING", (event["id"],)).rowcount == 0:
            return
        if status is not None:
            database.execute(
                "UPDATE orders SET status = ?, payment_id = ?, sequence = ?"
                " WHERE id = ? AND (payment_id IS NULL OR payment_id = ? AND sequence < ?)",
                (status, payment["id"], event["sequence"], payment["external_id"], payment["id"], event["sequence"]),
            )
