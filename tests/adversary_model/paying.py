"""What customers do: they choose a method, send money whole, in parts and as dust, wait, dispute, and see blocks dropped."""

from fractions import Fraction
from typing import Literal
from uuid import uuid4

from tests.adversary_model.quay import METHODS, PAYER
from tests.adversary_model.story import Attempt, Story, Transfer
from tests.adversary_model.yard import CODES
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import Observation, ObservedDispute, Payer
from tollhouse.pages.checkout import attempts
from tollhouse.payments.links import new_link as links
from tollhouse.payments.links import offers
from tollhouse.payments.links.model import LinkCreator
from tollhouse.payments.links.new_link import LinkRequest
from tollhouse.payments.transactions import store

PRICES = ("100.00", "9.99", "1000.00")
SHARES = ("all", "all", "all", "all", "dust", "half", "double", "twentyfold")
SEEN = ("dust", "dust", "all", "half", "double")


def offer(story: Story, which: int, price: int) -> str:
    """A new link, and an attempt to pay it."""
    code = CODES[which % 3]
    new = LinkRequest(
        display_name="Coffee", amount=PRICES[price % 3], currency="EUR", max_payments=(1, None)[which // 3 % 2]
    )
    opened = story.attempt(lambda work: links.open_link(work, story.env, new, LinkCreator("api_key")))
    if isinstance(opened, str):
        return opened
    link, _ = opened
    services, now = story.yard.services, story.now
    current = story.yard.run(offers.load_prices(services.db, link, story.settings, now))
    offered = offers.offers_for(link, story.settings, services.rails, services.catalogue, current)
    choice = attempts.Choice(link.suggested_price, offered, next(method for method in METHODS if method.endswith(code)))
    try:
        begun = story.yard.run(attempts.start(link, "Shop", choice, services, now))
    except ApiError as refused:
        return refused.code
    assert isinstance(begun, attempts.NewAttempt)
    payment_id = story.attempt(lambda work: attempts.begin(work.tx, link, begun, work.now, "en"))
    if payment_id != begun.id:
        return str(payment_id)
    made = story.yard.run(store.get(services.db, story.env, begun.id))
    assert made is not None
    fixed = None if begun.priced is None else begun.priced.price
    story.attempts.append(
        Attempt(
            made.id,
            made.instructions.reference,
            made.currency,
            made.amount_minor,
            None if fixed is None else Fraction(fixed.amount_minor, made.amount_minor),
            None if fixed is None else fixed.expires_at,
        )
    )
    return f"{code} {made.amount_minor} for {new.amount} EUR"


def send(story: Story, which: int, share: int) -> str:
    """Money is seen on the network, not yet in a block."""
    attempt = story.attempts[which % len(story.attempts)]
    how = SEEN[share % len(SEEN)]
    transfer = Transfer(attempt, f"tx-{uuid4()}", _amount(story, attempt, how), story.now)
    story.transfers.append(transfer)
    return f"{how} {transfer.amount_minor} {attempt.currency}: {story.observe(_seen(transfer))}"


def mine(story: Story, which: int, _: int) -> str:
    """Money on its way is in a block, which is not final yet."""
    transfer = _pick([transfer for transfer in story.transfers if transfer.block_at is None], which)
    transfer.block_at = story.now
    return f"{transfer.amount_minor}: {story.observe(_seen(transfer))}"


def confirm(story: Story, which: int, _: int) -> str:
    """Money is final."""
    transfer = _pick([transfer for transfer in story.transfers if not transfer.is_there], which)
    return f"{transfer.amount_minor}: {_arrive(story, transfer)}"


def vanish(story: Story, which: int, _: int) -> str:
    """Money on its way is replaced by another transaction, and never comes."""
    transfer = _pick([transfer for transfer in story.transfers if not transfer.is_there], which)
    story.transfers.remove(transfer)
    gone = Observation(reference=transfer.attempt.reference, outcome="vanished", external_ref=transfer.ref)
    return f"{transfer.amount_minor}: {story.observe(gone)}"


def pay(story: Story, which: int, share: int) -> str:
    """Money arrives at once."""
    attempt = story.attempts[which % len(story.attempts)]
    how = SHARES[share % len(SHARES)]
    transfer = Transfer(attempt, f"tx-{uuid4()}", _amount(story, attempt, how), story.now)
    story.transfers.append(transfer)
    return f"{how} {transfer.amount_minor} {attempt.currency}: {_arrive(story, transfer)}"


def dispute(story: Story, which: int, part: int) -> str:
    """A customer disputes what it paid by card, or a part of it: the rail takes it at once."""
    transfer = _pick(disputable(story), which)
    amount_minor = max(1, (transfer.amount_minor - transfer.disputed_minor) // (1 + part % 2))
    name = f"dispute-{uuid4()}"
    transfer.disputes[name] = amount_minor
    transfer.disputed_minor += amount_minor
    story.yard.quay.coins[transfer.attempt.currency] -= amount_minor
    return f"{amount_minor}: {story.observe(_dispute(transfer, name))}"


def end_dispute(story: Story, which: int, won: int) -> str:
    """The customer's bank decides."""
    transfer = _pick([transfer for transfer in story.transfers if transfer.disputes], which)
    name, is_won = next(iter(transfer.disputes)), won % 2 == 1
    observed = _dispute(transfer, name, "won" if is_won else "lost")
    amount_minor = transfer.disputes.pop(name)
    if is_won:
        transfer.disputed_minor -= amount_minor
        story.yard.quay.coins[transfer.attempt.currency] += amount_minor
    return f"{'won' if is_won else 'lost'} {amount_minor}: {story.observe(observed)}"


def drop(story: Story, which: int, _: int) -> str:
    """The block of final money is dropped."""
    transfer = _pick([transfer for transfer in on_chain(story) if not transfer.gone], which)
    transfer.gone.append(f"block-{uuid4()}")
    story.yard.quay.coins[transfer.attempt.currency] -= transfer.amount_minor
    return f"{transfer.amount_minor}: {story.observe(_block(transfer, 'reversed'))}"


def bring_back(story: Story, which: int, _: int) -> str:
    """Money of a dropped block is in another one."""
    transfer = _pick([transfer for transfer in story.transfers if transfer.gone], which)
    story.yard.quay.coins[transfer.attempt.currency] += transfer.amount_minor
    observed = _block(transfer, "reinstated")
    transfer.gone.clear()
    return f"{transfer.amount_minor}: {story.observe(observed)}"


def disputable(story: Story) -> list[Transfer]:
    """Money that was paid by card and is there."""
    cards = (transfer for transfer in story.transfers if transfer.is_there and transfer.attempt.currency != "BTC")
    return [card for card in cards if card.amount_minor > card.disputed_minor]


def on_chain(story: Story) -> list[Transfer]:
    """Money that is there by a network."""
    return [transfer for transfer in story.transfers if transfer.is_there and transfer.attempt.currency == "BTC"]


def _pick(among: list[Transfer], which: int) -> Transfer:
    return among[which % len(among)]


def _amount(story: Story, attempt: Attempt, how: str) -> int:
    sent = sum(transfer.amount_minor for transfer in story.transfers if transfer.attempt is attempt and transfer.is_there)
    due = max(attempt.amount_minor - sent, 1)
    return max(1, {"dust": due // 50, "half": due // 2, "all": due, "double": due * 2, "twentyfold": due * 20}[how])


def _arrive(story: Story, transfer: Transfer) -> str:
    transfer.block_at = transfer.block_at or story.now
    transfer.is_there = True
    attempt = transfer.attempt
    story.yard.quay.coins[attempt.currency] += transfer.amount_minor
    if attempt.fixed_until is not None and transfer.judged_at < attempt.fixed_until:
        attempt.in_time_minor = min(attempt.amount_minor, attempt.in_time_minor + transfer.amount_minor)
    return story.observe(
        Observation(
            reference=attempt.reference,
            outcome="confirmed",
            external_ref=transfer.ref,
            amount_minor=transfer.amount_minor,
            currency=attempt.currency,
            payer=Payer(PAYER),
            arrived_at=transfer.block_at,
        )
    )


def _seen(transfer: Transfer) -> Observation:
    return Observation(
        reference=transfer.attempt.reference,
        outcome="seen",
        external_ref=transfer.ref,
        amount_minor=transfer.amount_minor,
        currency=transfer.attempt.currency,
        confirmations=0 if transfer.block_at is None else 1,
        required_confirmations=2,
        arrived_at=transfer.block_at,
    )


def _dispute(transfer: Transfer, name: str, closed: Literal["won", "lost"] | None = None) -> Observation:
    return Observation(
        reference=transfer.attempt.reference,
        outcome="reversed",
        external_ref=transfer.ref,
        amount_minor=transfer.disputes[name],
        currency=transfer.attempt.currency,
        dispute=ObservedDispute(id=name, reason="fraudulent", closed=closed),
    )


def _block(transfer: Transfer, outcome: Literal["reversed", "reinstated"]) -> Observation:
    return Observation(
        reference=transfer.attempt.reference,
        outcome=outcome,
        external_ref=transfer.ref,
        reversal_ref=transfer.gone[-1],
    )
