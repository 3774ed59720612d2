"""The rails that there are, held to the contract of sending."""

from uuid import UUID

import pytest

from tests.cast import Actor
from tests.rails.bank.steps import ACCOUNT
from tests.running import CATALOGUE, Service
from tests.transfers.withdrawals.payout_contract import PayoutContract
from tests.transfers.withdrawals.rails import PaperBank
from tests.transfers.withdrawals.steps import BY_SEPA, TO_NINA, fund
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import actions
from tollhouse.rails.bank.files.transfer import BankTransfer
from tollhouse.rails.sandbox.provider import SANDBOX


class TestSandbox(PayoutContract):
    """The simulator."""

    provider = SANDBOX
    wanted = TO_NINA

    async def fund(self, actor: Actor, services: Services) -> None:
        """Test money."""
        del services
        await fund(actor)


class _ByBank(PayoutContract):
    """Whichever bank: its merchant has live money."""

    wanted = BY_SEPA

    async def fund(self, actor: Actor, services: Services) -> None:
        """An operator's gift."""
        env, context = (
            MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live"),
            OperatorContext("olga", clock.now(), "Opening balance"),
        )
        await services.transact(
            lambda work: actions.adjust(work, env, CATALOGUE.currencies["EUR"], 10_000, context), context.at
        )


class TestPaperBank(_ByBank):
    """The bank of the test bed."""

    @pytest.fixture(autouse=True)
    def bank_of_its_own(self, monkeypatch: pytest.MonkeyPatch, still: Service) -> None:
        """A new one for each test."""
        self.provider = PaperBank()
        monkeypatch.setitem(still.rails.providers, ("bank", "live"), self.provider)


class TestBankTransfer(_ByBank):
    """The one there is: nothing leaves before an operator has exported it."""

    @pytest.fixture(autouse=True)
    def bank_of_the_service(self, monkeypatch: pytest.MonkeyPatch, still: Service) -> None:
        """By its account."""
        self.provider = BankTransfer(ACCOUNT)
        monkeypatch.setitem(still.rails.providers, ("bank", "live"), self.provider)
