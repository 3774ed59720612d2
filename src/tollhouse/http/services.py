"""What every request finds in the house: settings, the database, the key ring and the templates."""

from msgspec import Struct

from tollhouse.http.templates import Templates
from tollhouse.platform.config import Settings
from tollhouse.platform.db import Pool
from tollhouse.platform.encryption import KeyRing


class Services(Struct, frozen=True):
    """Made once by the composition root, and passed to whoever asks for it by name."""

    settings: Settings
    db: Pool
    keys: KeyRing
    templates: Templates
