"""What operators decide about a withdrawal is part of its story."""

import pytest

from tests.cast import Actor
from tests.command import tollhouse
from tests.pages.console.commands import operator
from tests.transfers.withdrawals.steps import BY_SEPA, asked


@pytest.mark.long
@pytest.mark.usefixtures("bank")
async def test_an_operators_decision_is_part_of_the_story(rich: Actor) -> None:
    withdrawal = await asked(rich, BY_SEPA, mode="live")
    done = await operator(
        rich.service, "withdrawals", "reject", withdrawal["id"], "--reason", "Unknown payee", "--as", "nobody", "--json"
    )
    assert done.status == 1
    done = await operator(rich.service, "withdrawals", "reject", withdrawal["id"], "--reason", "Unknown payee", "--json")
    for named in (withdrawal["id"], done.json["action_id"]):
        entries = (await tollhouse(rich.service, "trace", named, "--json")).json["entries"]
        lines = [(entry["kind"], entry["summary"]) for entry in entries]
        rejected = "withdrawal_rejected by local administrator on the command line: Unknown payee"
        assert ("operator", rejected) in lines
        assert ("ledger", "hold 10.00 EUR: debit available, credit reserved") in lines
        assert ("ledger", "release 10.00 EUR: debit reserved, credit available") in lines
        assert any(kind == "event" and summary.startswith("withdrawal.failed, ") for kind, summary in lines)
        text = str(entries)
        assert BY_SEPA["receiver"] not in text
        assert "Nina" not in text
