"""A merchant in one environment: what every row of a merchant belongs to."""

from msgspec import Struct

from tollhouse.kernel.ids import MerchantId, Mode


class MerchantEnv(Struct, frozen=True):
    """A merchant's live or test side. The two are fully apart."""

    merchant_id: MerchantId
    mode: Mode

    @property
    def livemode(self) -> bool:
        """True for live."""
        return self.mode == "live"
