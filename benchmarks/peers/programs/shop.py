"""A small payment API as FastAPI and SQLAlchemy 2 suggest it: models, a session for each request, one transaction.

DATABASE_URL names the database. `python shop.py` creates the tables; `uvicorn shop:app` serves.
"""

import asyncio
import hashlib
import os
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar
from uuid import UUID, uuid4

from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import BigInteger, DateTime, ForeignKey, LargeBinary, String, UniqueConstraint, select
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

engine = create_async_engine(os.environ["DATABASE_URL"], pool_size=10, max_overflow=0)
new_session = async_sessionmaker(engine, expire_on_commit=False)
app = FastAPI()


class Base(DeclarativeBase):
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: DateTime(timezone=True),
        int: BigInteger,
        dict[str, Any]: JSONB,
        list[str]: ARRAY(String),
    }


class Merchant(Base):
    __tablename__ = "merchants"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    business_name: Mapped[str]


class ApiKey(Base):
    __tablename__ = "api_keys"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    merchant_id: Mapped[UUID] = mapped_column(ForeignKey("merchants.id"))
    key_hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    scopes: Mapped[list[str]]
    revoked_at: Mapped[datetime | None]
    merchant: Mapped[Merchant] = relationship(lazy="joined", innerjoin=True)


class AccessToken(Base):
    __tablename__ = "access_tokens"
    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    merchant_id: Mapped[UUID] = mapped_column(ForeignKey("merchants.id"))
    client_id: Mapped[str]
    scopes: Mapped[list[str]]
    expires_at: Mapped[datetime]
    merchant: Mapped[Merchant] = relationship(lazy="joined", innerjoin=True)


class PaymentLink(Base):
    __tablename__ = "payment_links"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    merchant_id: Mapped[UUID] = mapped_column(ForeignKey("merchants.id"), index=True)
    token: Mapped[str] = mapped_column(unique=True)
    status: Mapped[str]
    display_name: Mapped[str]
    amount_minor: Mapped[int]
    currency: Mapped[str]
    external_id: Mapped[str | None]
    payments_count: Mapped[int] = mapped_column(default=0)
    amount_paid_minor: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class Payment(Base):
    __tablename__ = "payments"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    payment_link_id: Mapped[UUID] = mapped_column(ForeignKey("payment_links.id"), index=True)
    merchant_id: Mapped[UUID] = mapped_column(ForeignKey("merchants.id"), index=True)
    status: Mapped[str]
    amount_minor: Mapped[int]
    currency: Mapped[str]
    created_at: Mapped[datetime]
    succeeded_at: Mapped[datetime | None]


class Account(Base):
    __tablename__ = "accounts"
    __table_args__ = (UniqueConstraint("merchant_id", "code", "currency"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    merchant_id: Mapped[UUID] = mapped_column(ForeignKey("merchants.id"))
    code: Mapped[str]
    currency: Mapped[str]
    balance_minor: Mapped[int] = mapped_column(default=0)


class LedgerEntry(Base):
    __tablename__ = "ledger_entries"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    payment_id: Mapped[UUID] = mapped_column(ForeignKey("payments.id"), index=True)
    amount_minor: Mapped[int]
    balance_after_minor: Mapped[int]
    created_at: Mapped[datetime]


class IdempotencyKey(Base):
    __tablename__ = "idempotency_keys"
    merchant_id: Mapped[UUID] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary)
    response: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime]


class Event(Base):
    __tablename__ = "events"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    merchant_id: Mapped[UUID] = mapped_column(ForeignKey("merchants.id"), index=True)
    type: Mapped[str]
    body: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(default="pending")
    created_at: Mapped[datetime]


class NewLink(BaseModel):
    display_name: str = Field(max_length=80)
    amount: str = Field(pattern=r"^\d{1,9}\.\d{2}$")
    currency: str = Field(pattern="^[A-Z]{3}$")
    external_id: str | None = Field(default=None, max_length=64)


class AccountView(BaseModel):
    merchant_id: UUID
    business_name: str
    scopes: list[str]
    active: bool = True


class LinkView(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: UUID
    token: str
    status: str
    display_name: str
    amount_minor: int
    currency: str
    external_id: str | None
    payments_count: int
    amount_paid_minor: int
    created_at: datetime
    expires_at: datetime


class PaymentView(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: UUID
    payment_link_id: UUID
    status: str
    amount_minor: int
    currency: str
    created_at: datetime
    succeeded_at: datetime | None


async def open_session() -> AsyncIterator[AsyncSession]:
    async with new_session() as session:
        yield session


Session = Annotated[AsyncSession, Depends(open_session)]


async def caller(
    session: Session,
    authorization: Annotated[str | None, Header()] = None,
    x_api_key: Annotated[str | None, Header()] = None,
) -> ApiKey | AccessToken:
    found: ApiKey | AccessToken | None = None
    if x_api_key:
        digest = hashlib.sha256(x_api_key.encode()).digest()
        found = await session.scalar(select(ApiKey).where(ApiKey.key_hash == digest, ApiKey.revoked_at.is_(None)))
    elif authorization and authorization.startswith("Bearer "):
        digest = hashlib.sha256(authorization[7:].encode()).digest()
        found = await session.scalar(
            select(AccessToken).where(AccessToken.token_hash == digest, AccessToken.expires_at > datetime.now(UTC))
        )
    if found is None:
        raise HTTPException(401, "unauthorized")
    return found


Caller = Annotated[ApiKey | AccessToken, Depends(caller)]


@app.get("/api/v2/integration/account")
async def account(caller: Caller) -> AccountView:
    return AccountView(merchant_id=caller.merchant_id, business_name=caller.merchant.business_name, scopes=caller.scopes)


@app.post("/api/v2/integration/payment-links", status_code=201)
async def create_link(new: NewLink, session: Session, caller: Caller, idempotency_key: Annotated[str, Header()]) -> LinkView:
    now = datetime.now(UTC)
    fingerprint = hashlib.sha256(new.model_dump_json().encode()).digest()
    claim = insert(IdempotencyKey).values(
        merchant_id=caller.merchant_id, key=idempotency_key, fingerprint=fingerprint, created_at=now
    )
    claimed = await session.execute(claim.on_conflict_do_nothing())
    if not claimed.rowcount:
        earlier = await session.get_one(IdempotencyKey, (caller.merchant_id, idempotency_key))
        if earlier.fingerprint != fingerprint or earlier.response is None:
            raise HTTPException(409, "idempotency_key_reused")
        return LinkView.model_validate(earlier.response)
    link = PaymentLink(
        merchant_id=caller.merchant_id, token=secrets.token_urlsafe(20), status="active", display_name=new.display_name,
        amount_minor=int(new.amount.replace(".", "")), currency=new.currency, external_id=new.external_id,
        created_at=now, expires_at=now + timedelta(days=1),
    )  # fmt: skip
    session.add(link)
    await session.flush()
    view = LinkView.model_validate(link)
    stored = await session.get_one(IdempotencyKey, (caller.merchant_id, idempotency_key))
    stored.response = view.model_dump(mode="json")
    await session.commit()
    return view


@app.post("/api/v2/integration/test/transactions/{payment_id}/simulate")
async def capture(payment_id: UUID, session: Session, caller: Caller) -> PaymentView:
    now = datetime.now(UTC)
    payment = await session.scalar(
        select(Payment).where(Payment.id == payment_id, Payment.merchant_id == caller.merchant_id).with_for_update()
    )
    if payment is None:
        raise HTTPException(404, "not_found")
    if payment.status != "pending":
        raise HTTPException(409, "invalid_state")
    link = await session.get_one(PaymentLink, payment.payment_link_id, with_for_update=True)
    accounts = await session.scalars(
        select(Account)
        .where(Account.merchant_id == caller.merchant_id, Account.currency == payment.currency)
        .order_by(Account.id)
        .with_for_update()
    )
    balances = {one.code: one for one in accounts}
    payment.status, payment.succeeded_at = "succeeded", now
    link.status, link.payments_count = "completed", link.payments_count + 1
    link.amount_paid_minor += payment.amount_minor
    for code, amount in (("rail", -payment.amount_minor), ("available", payment.amount_minor)):
        balances[code].balance_minor += amount
        session.add(
            LedgerEntry(
                account_id=balances[code].id, payment_id=payment.id, amount_minor=amount,
                balance_after_minor=balances[code].balance_minor, created_at=now,
            )
        )  # fmt: skip
    view = PaymentView.model_validate(payment)
    balance = {"currency": payment.currency, "available_minor": balances["available"].balance_minor}
    for type_, body in (("payment.succeeded", view.model_dump(mode="json")), ("balance.updated", balance)):
        session.add(Event(merchant_id=caller.merchant_id, type=type_, body=body, created_at=now))
    await session.commit()
    return view


async def create() -> None:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(create())
