"""What happens on the simulated network: customers pay, a merchant pays out, blocks are mined and replaced."""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from tests.cast import Actor
from tests.rails.evm.fake_chain import BLOCK_S, GWEI, ChainTx, Move
from tests.rails.evm.offering import Offering, address
from tests.rails.evm.simulation import DEPTH, NAME, TOKEN, Simulation
from tollhouse.accounts.approvals.model import Reviewer
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.links import new_link as link_actions
from tollhouse.payments.links.model import LinkCreator
from tollhouse.payments.links.new_link import LinkRequest
from tollhouse.payments.refunds import actions as refund_actions
from tollhouse.payments.refunds import review as refund_review
from tollhouse.payments.refunds.new_refund import NewRefund
from tollhouse.transfers.withdrawals import actions as withdrawal_actions
from tollhouse.transfers.withdrawals import changes as withdrawal_review
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

T = TypeVar("T")
ETHER, DOLLAR = 10**18, 10**6
PRICES = {"ETH": "1.5", "USDC": "120"}
UNITS = {"ETH": 3 * ETHER // 2, "USDC": 120 * DOLLAR}
BLOCK_TIME = timedelta(seconds=BLOCK_S)
LINK_ATTEMPTS = 30
LINK_LIVES = timedelta(hours=2)
NEVER_PAID = "100000"
"""The price of payments to which contracts send ether: they stay open, so their balances are looked at."""
REFUNDABLE = """
    SELECT id FROM transactions WHERE merchant_id = $1 AND mode = 'live' AND rail = $2
      AND status IN ('succeeded', 'refund_required', 'partially_refunded') ORDER BY id LIMIT 100 OFFSET $3
"""
TO_REVIEW = """
    SELECT o.id, o.kind FROM outgoing_transfers o
    WHERE o.merchant_id = $1 AND o.rail = $2 AND o.review = 'required' AND o.closed_at IS NULL ORDER BY o.created_at LIMIT 20
"""


class History(Offering):
    """Random events, from the seed of the simulation."""

    def __init__(self, simulation: Simulation, actor: Actor) -> None:
        self.simulation, self.chain, self.random = simulation, simulation.chain, simulation.random
        self.actor, self.name, self.services = actor, NAME, simulation.web
        self.env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live")
        self.links: dict[str, tuple[str, int, datetime]] = {}
        """By price: token, attempts and expiry."""
        self.open: list[tuple[str, str]] = []
        """Addresses and currencies of payments that a customer may be about to pay."""
        self.shown: list[tuple[str, str]] = []
        """All of them."""
        self.contract_paid: list[str] = []
        self.branches: list[str] = []
        self.counts = Counter[str]()

    async def step(self) -> None:
        """A few events and one more block, or a reorganisation."""
        await self._offer_something()
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            self._receive()
        await self._send_something()
        self._change_network()
        if self.random.random() < 0.12:
            self._reorganize()
        self._mine()
        self.simulation.finalize()
        self.simulation.now += BLOCK_TIME

    def _mine(self) -> None:
        some = self.random.choice((0.3, 0.8, 1))
        self.chain.mine(1, lambda _: self.random.random() < some)
        self.counts["blocks"] += 1

    def _change_network(self) -> None:
        happens = self.random.random
        if happens() < 0.05:
            self.chain.base_fee = self.random.choice((1, 2, 2, 5, 10, 40, 90, 150)) * GWEI
        if happens() < 0.05:
            self.chain.token_fee_percent = self.random.choice((0, 0, 0, 1, 5))
        if happens() < 0.2:
            self.simulation.node.lag()
        if happens() < 0.02:  # nodes forget what waits
            self.chain.mempool = [tx for tx in self.chain.mempool if happens() < 0.5]
            self.counts["mempools forgotten"] += 1
        if happens() < 0.02:
            self.simulation.endanger()

    def _reorganize(self) -> None:
        depth = self.random.randint(1, DEPTH)
        if depth > self.simulation.replaceable:
            return
        old = self.chain.head.hash
        if self.random.random() < 0.15 and self.branches and self._can_return(self.branches[-1]):
            self.chain.return_to(self.branches.pop())
            self.counts["returns to a branch"] += 1
            return
        kept = self.random.choice((0, 0.5, 0.9, 1, 1))
        self.chain.reorganize(depth, lambda _: self.random.random() < kept, blocks=0)
        for _ in range(depth + self.random.choice((-1, 0, 0))):
            self._mine()
        self.branches.append(old)
        self.counts["reorganisations"] += 1
        self.counts["blocks replaced"] += depth

    def _can_return(self, name: str) -> bool:
        """Whether the branch of this block has all that is final."""
        final = self.chain.canon[self.chain.finalized]
        block = self.chain.blocks[name]
        while block.number > self.chain.finalized:
            block = self.chain.blocks[block.parent_hash]
        return block.hash == final

    # Deposits

    async def _offer_something(self) -> None:
        if self.random.random() > 0.4:
            return
        currency = self.random.choice(("ETH", "ETH", "USDC"))
        for_contract = currency == "ETH" and self.random.random() < 0.2
        try:
            link = await self._link(currency, NEVER_PAID if for_contract else PRICES[currency])
            payment = await self.choose(link, currency, self.simulation.now)
        except ApiError:  # the rail is down
            self.counts["offers refused"] += 1
            return
        place = (address(payment).lower(), currency)
        if for_contract:
            self.contract_paid.append(place[0])
        else:
            self.open.append(place)
            self.shown.append(place)
        self.counts["payments"] += 1

    async def _link(self, currency: str, price: str) -> str:
        token, attempts, expires_at = self.links.get(price, ("", LINK_ATTEMPTS, self.simulation.now))
        if attempts == LINK_ATTEMPTS or self.simulation.now >= expires_at:
            expires_at = self.simulation.now + (timedelta(days=300) if price == NEVER_PAID else LINK_LIVES)
            new = LinkRequest(display_name="Tea", amount=price, currency=currency, max_payments=None, expires_at=expires_at)
            made, _ = await self._transact(lambda work: link_actions.open_link(work, self.env, new, LinkCreator("api_key")))
            token, attempts = made.token, 0
        self.links[price] = (token, attempts + 1, expires_at)
        return token

    def _receive(self) -> None:
        """A customer sends something."""
        if self.contract_paid and self.random.random() < 0.1:
            receiver = self.random.choice(self.contract_paid)
            self.chain.pay(Move(None, receiver, self.random.randint(1, ETHER)), is_internal=True)
            self.counts["sent by contracts"] += 1
            return
        if not self.shown:
            return
        is_open = self.open and self.random.random() < 0.7
        receiver, currency = self.random.choice(self.open[-20:] if is_open else self.shown)
        if self.random.random() < 0.1:
            currency = "USDC" if currency == "ETH" else "ETH"
        moves = [self._move(receiver, currency)]
        if currency == "USDC" and self.random.random() < 0.2:  # one transaction, several transfers
            moves += [self._move(self.random.choice((receiver, *(one for one, _ in self.shown[-5:]))), "USDC")]
        self._pay(moves)
        if self.random.random() < 0.1:  # twice to one address
            self._pay([self._move(receiver, currency)])

    def _pay(self, moves: list[Move]) -> ChainTx:
        self.counts["deposits sent"] += 1
        return self.chain.pay(*moves, is_fragile=self.random.random() < 0.1)

    def _move(self, receiver: str, currency: str) -> Move:
        units = UNITS[currency]
        match self.random.choice(("exact", "exact", "more", "part", "dust")):
            case "more":
                units += self.random.randint(1, units)
            case "part":
                units = self.random.randint(units // 10, units)
            case "dust":
                units = self.random.randint(1, 10**10) if currency == "ETH" else 1
            case _:
                pass
        return Move(TOKEN if currency == "USDC" else None, receiver, units)

    # Payouts

    async def _send_something(self) -> None:
        chosen = self.random.random()
        try:
            if chosen < 0.25:
                await self._withdraw()
            elif chosen < 0.4:
                await self._refund()
            elif chosen < 0.7:
                await self.approve(2)
        except ApiError as error:  # the rail is down, or there is too little
            self.counts[f"refused: {error.code}"] += 1

    async def _withdraw(self) -> None:
        currency = self.random.choice(("ETH", "USDC"))
        amount = f"0.{self.random.randint(1, 30):02}" if currency == "ETH" else f"{self.random.randint(1, 40)}.5"
        new = NewWithdrawal(method_id=f"{NAME}:{currency}", amount=amount, receiver=self._receiver())
        await self._transact(lambda work: withdrawal_actions.request(work, self.env, new))
        self.counts["withdrawals"] += 1

    async def _refund(self) -> None:
        """Of a payment that has money: to whom it came from, or to somebody else."""
        rows = await self.services.db.fetch(REFUNDABLE, self.env.merchant_id, NAME, 10 * self.random.randrange(10))
        if not rows:
            return
        amount = self.random.choice((None, "0.1", "0.01"))
        new = NewRefund(amount=amount, receiver=self.random.choice((None, self._receiver())))
        paid = self.random.choice(rows)["id"]
        await self._transact(lambda work: refund_actions.request(work, self.env, paid, new, by=None))
        self.counts["refunds"] += 1

    async def approve(self, count: int) -> int:
        """An operator approves some of what waits for a review. Returns how many waited."""
        rows = await self.services.db.fetch(TO_REVIEW, self.env.merchant_id, NAME)
        for row in rows[:count]:
            await self._transact(lambda work, one=row: _approve(work, one["id"], one["kind"]))
        return len(rows)

    def _receiver(self) -> str:
        """A stranger, or an address of a payment of our own."""
        if self.shown and self.random.random() < 0.1:
            return self.random.choice(self.shown[-30:])[0]
        return f"0x{self.random.randrange(1, 2**64):040x}"

    async def _transact(self, action: Callable[[Work], Awaitable[T]]) -> T:
        return await self.services.transact(action, self.simulation.now)


async def _approve(work: Work, transfer_id: UUID, kind: str) -> None:
    """By one operator, and by a second one where what the merchant sends in a day needs two."""
    for name in ("olga", "otto"):
        if kind == "withdrawal":
            withdrawal = await withdrawal_review.lock(work.tx, transfer_id)
            done = withdrawal_review.is_approved(
                await withdrawal_review.approve(work.tx, withdrawal, Reviewer(name), None, work.now)
            )
        else:
            refund = await refund_review.lock(work.tx, transfer_id)
            done = refund_review.is_approved(await refund_review.approve(work.tx, refund, Reviewer(name), None, work.now))
        if done:
            return
