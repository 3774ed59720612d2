"""Playing histories: chosen at random among what is possible, judged at their end, and made short if something is wrong."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.adversary_model import agent, paying, selling
from tests.adversary_model.judging import violations_of
from tests.adversary_model.market import FACTORS, FIRST, SPANS
from tests.adversary_model.story import Story
from tests.adversary_model.yard import Yard, yard
from tests.running import Service, settings_for
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.platform.database.digests_store import BEFORE_ALL

BATCH = 500
"""So many histories share a database: the invariants are asked of everything in it at the end."""
STEPS_MIN, STEPS_MAX = 5, 11
ANY = 1_000
CODES = tuple(FIRST)


@dataclass(frozen=True)
class Step:
    """What may happen: how often, when, and how it is done."""

    weight: int
    is_possible: Callable[[Story], object]
    do: Callable[[Story, int, int], str]


class Played(NamedTuple):
    """A step of a history."""

    name: str
    which: int
    how: int


class History(NamedTuple):
    """What was played, a line for each step, and what is wrong with it."""

    seed: int
    steps: list[Played]
    lines: list[str]
    violations: list[str]

    def __str__(self) -> str:
        return "\n".join([f"history {self.seed}", *self.lines, *(f"VIOLATION {violation}" for violation in self.violations)])


def _wait(story: Story, which: int, _: int) -> str:
    """Time passes."""
    span = SPANS[which % len(SPANS)]
    story.yard.market.wait(span)
    return str(span)


def _move(story: Story, which: int, how: int) -> str:
    """A price changes."""
    code, factor = CODES[which % len(CODES)], FACTORS[how % len(FACTORS)]
    story.yard.market.move(code, factor)
    return f"one euro buys {float(factor):.2f} times as much {code}"


def _active(story: Story) -> bool:
    return not story.is_suspended


STEPS: dict[str, Step] = {
    "offer": Step(4, lambda story: _active(story) and len(story.attempts) < 3, paying.offer),
    "send": Step(5, lambda story: story.attempts, paying.send),
    "mine": Step(3, lambda story: any(transfer.block_at is None for transfer in story.transfers), paying.mine),
    "confirm": Step(5, lambda story: any(not transfer.is_there for transfer in story.transfers), paying.confirm),
    "vanish": Step(1, lambda story: any(not transfer.is_there for transfer in story.transfers), paying.vanish),
    "pay": Step(6, lambda story: story.attempts, paying.pay),
    "dispute": Step(6, paying.disputable, paying.dispute),
    "end dispute": Step(3, lambda story: any(transfer.disputes for transfer in story.transfers), paying.end_dispute),
    "drop": Step(2, lambda story: any(not transfer.gone for transfer in paying.on_chain(story)), paying.drop),
    "bring back": Step(2, lambda story: any(transfer.gone for transfer in story.transfers), paying.bring_back),
    "accept": Step(2, lambda story: _active(story) and story.transfers, selling.accept),
    "refund": Step(5, lambda story: _active(story) and story.transfers, selling.refund),
    "send refund": Step(2, lambda story: any(not refund.is_sent for refund in story.refunds), selling.send_refund),
    "end refund": Step(7, lambda story: any(not refund.is_paid for refund in story.refunds), selling.end_refund),
    "return refund": Step(1, lambda story: any(refund.is_paid for refund in story.refunds), selling.return_refund),
    "convert": Step(2, lambda story: _active(story) and story.transfers, selling.convert),
    "quote": Step(1, lambda story: _active(story) and story.transfers, selling.quote),
    "use quote": Step(3, lambda story: _active(story) and story.quotes, selling.use_quote),
    "withdraw": Step(2, lambda story: _active(story) and story.transfers, selling.withdraw),
    "pay out": Step(3, lambda story: any(not withdrawal.is_paid for withdrawal in story.withdrawals), selling.pay_out),
    "reserve": Step(2, lambda story: _active(story) and story.transfers, selling.reserve),
    "capture": Step(3, lambda story: story.reserved, selling.capture),
    "agent asks": Step(6, lambda story: story.transfers, agent.try_to_spend),
    "decide": Step(12, lambda story: story.proposed, agent.decide),
    "suspend": Step(1, lambda story: _active(story) and story.transfers, selling.suspend),
    "reactivate": Step(2, lambda story: story.is_suspended, selling.reactivate),
    "wait": Step(5, lambda story: story.attempts, _wait),
    "move": Step(5, lambda story: story.attempts, _move),
}


def play(here: Yard, seed: int) -> History:
    """One history, by its seed."""
    chance = random.Random(seed)  # noqa: S311 - a game
    story, played, lines = Story(here, _settings(chance)), list[Played](), list[str]()
    for _ in range(chance.randint(STEPS_MIN, STEPS_MAX)):
        possible = [name for name, step in STEPS.items() if step.is_possible(story)]
        [name] = chance.choices(possible, [STEPS[step].weight for step in possible])
        step = Played(name, chance.randrange(ANY), chance.randrange(ANY))
        played.append(step)
        lines.append(_do(story, step))
    return History(seed, played, [_line_of_settings(story), *lines], violations_of(story))


def again(here: Yard, seed: int, steps: list[Played]) -> History:
    """These steps with other merchants; those that are not possible are left out."""
    chance = random.Random(seed)  # noqa: S311 - a game
    story, played, lines = Story(here, _settings(chance)), list[Played](), list[str]()
    for step in steps:
        if STEPS[step.name].is_possible(story):
            played.append(step)
            lines.append(_do(story, step))
    return History(seed, played, [_line_of_settings(story), *lines], violations_of(story))


def shortened(here: Yard, failed: History) -> History:
    """The same history without whatever it does not need to go wrong as it did."""
    kind = _kind(failed.violations[0])
    at = len(failed.steps)
    while at > 0:
        at -= 1
        tried = again(here, failed.seed, failed.steps[:at] + failed.steps[at + 1 :])
        if any(_kind(violation) == kind for violation in tried.violations):
            failed = tried
            at = min(at, len(failed.steps))
    return failed


def histories(dsn: str, runs: int, start: int = 0) -> Iterator[History]:
    """Play so many, by consecutive seeds. What broke an invariant comes with the last of its batch."""
    for before in range(0, runs, BATCH):
        service = Service(settings_for(dsn, fresh=True), worker=False)
        with yard(service) as here:
            for seed in range(start + before, start + min(runs, before + BATCH)):
                played = play(here, seed)
                yield shortened(here, played) if played.violations else played
            broken = here.broken_invariants(BEFORE_ALL)
            if broken:
                yield History(start + before, [], [f"the batch of {BATCH} from {start + before}"], broken)


def _do(story: Story, step: Played) -> str:
    story.yard.market.tick()
    outcome = STEPS[step.name].do(story, step.which, step.how)
    return f"  {step.name}: {outcome}"


def _kind(violation: str) -> str:
    """What kind of violation it is, without its amounts."""
    return "".join(letter for letter in violation if not letter.isdigit())


def _settings(chance: random.Random) -> PaymentSettings:
    return PaymentSettings(
        additional_currencies=("BTC", "USD"),
        overpayment=chance.choice(["credit", "credit", "refund_required"]),
        late_payments=chance.choice(["accept", "refund_required"]),
        settlement=chance.choice(["convert", "convert", "convert", "keep"]),
        link_expiry_minutes=chance.choice([5, 60, 1_440, 20_000]),
    )


def _line_of_settings(story: Story) -> str:
    one = story.settings
    return (
        f"  settings: overpayment {one.overpayment}, late {one.late_payments}, {one.settlement},"
        f" links last {one.link_expiry_minutes} min"
    )
