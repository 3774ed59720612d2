"""Money for deliveries into a game: ordered, canceled, and answered by the sandbox's game server."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.money_model.actions.picking import PICK, Actions
from tests.money_model.history import spelt
from tests.money_model.oracle.balances import SHOP
from tests.money_model.oracle.fulfillments import UNIT_PRICE, Fulfillment

PLAYERS = st.sampled_from(["p-1", "p-1", "partial", "banned", "out-of-stock", "stuck"])
QUANTITIES = st.integers(1, 9) | st.integers(1, 3_000)
OUTCOMES = st.sampled_from(["complete", "partial", "partial", "fail"])


class FulfillmentActions(Actions):
    """Fulfillments, paid in euros."""

    @rule(quantity=QUANTITIES, player=PLAYERS, at_most=st.none() | st.integers(1, 30_000), pick=PICK)
    def order(self, quantity: int, player: str, at_most: int | None, pick: int) -> None:
        self._order(quantity, player, at_most, pick)

    @rule(quantity=QUANTITIES, pick=PICK, outcome=OUTCOMES)
    def order_to_the_end(self, quantity: int, pick: int, outcome: str) -> None:
        if self._order(quantity, "p-1", None, pick):
            self._answer(self.books.fulfillments.every[-1], outcome)

    @rule(pick=PICK)
    def cancel_fulfillment(self, pick: int) -> None:
        one = self._fulfillment({"pending"}, pick)
        if one is not None:
            path, books = f"/fulfillments/{one.fulfillment_id}/cancel", self.books
            shown = self.history.request(path, {}, lambda: books.fulfillments.cancel(one))
            if shown is not None:
                self.history.same_fulfillment(one, shown)

    @rule(pick=PICK, outcome=OUTCOMES)
    def answer(self, pick: int, outcome: str) -> None:
        one = self._fulfillment({"pending", "processing"}, pick)
        if one is not None:
            self._answer(one, outcome)

    @rule()
    def deliver(self) -> None:
        """The worker asks the game server, if there is anything to be asked for."""
        ordered = [order for order in self.books.fulfillments.every if order.status in {"pending", "processing"}]
        if ordered:
            self.history.backstage.deliver(len(ordered))
            self.books.fulfillments.deliver()

    def _order(self, quantity: int, player: str, at_most: int | None, pick: int) -> bool:
        self.have(SHOP, "EUR", quantity * UNIT_PRICE, pick)
        body = {"product_id": "sandbox:gems", "quantity": quantity, "recipient": {"player_id": player}}
        body |= {} if at_most is None else {"max_cost": spelt(at_most, "EUR")}
        books = self.books
        made = self.history.request("/fulfillments", body, lambda: books.fulfillments.order(quantity, player, at_most))
        if made is None:
            return False
        one = books.fulfillments.every[-1]
        one.fulfillment_id = made["id"]
        self.history.same_fulfillment(one, made)
        return True

    def _answer(self, one: Fulfillment, outcome: str) -> None:
        path, books = f"/test/fulfillments/{one.fulfillment_id}/simulate", self.books
        shown = self.history.request(path, {"outcome": outcome}, lambda: books.fulfillments.simulate(one, outcome))
        if shown is not None:
            self.history.same_fulfillment(one, shown)

    def _fulfillment(self, statuses: set[str], pick: int) -> Fulfillment | None:
        every = self.books.fulfillments.every
        return self.one_of([item for item in every if item.status in statuses], every, pick)
