"""The sandbox: the rail of test mode. No money exists here; the simulator plays the customer and the bank."""

from typing import Literal

from tollhouse.kernel.ids import Mode
from tollhouse.rails.provider import Attempt, Health, Instructions, Observation

Outcome = Literal["succeed", "fail"]
WORDS = "This is a test payment: nothing is charged. Choose below how it ends."


class Sandbox:
    """Always there in test mode, never in live."""

    name = "sandbox"
    mode: Mode = "test"

    def health(self) -> Health:
        """The sandbox cannot be down."""
        return Health(available=True)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """The attempt's id is all the reference it needs."""
        return Instructions(reference=str(attempt.id), words=WORDS)

    def simulate(self, reference: str, amount_minor: int, outcome: Outcome) -> Observation:
        """What a rail would have seen, had the customer paid in full or been declined."""
        if outcome == "succeed":
            return Observation(reference, "succeeded", received_minor=amount_minor)
        return Observation(reference, "failed", failure_code="card_declined")
