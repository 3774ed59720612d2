"""The services of the instance: settings, database, key ring, templates and rails."""

from msgspec import Struct

from tollhouse.http.templates import Templates
from tollhouse.platform.config import Settings
from tollhouse.platform.db import Pool
from tollhouse.platform.encryption import KeyRing
from tollhouse.rails.configured import Rails


class Services(Struct, frozen=True):
    """Built once by `main.create_services`. A handler that has a parameter of this name gets it."""

    settings: Settings
    db: Pool
    keys: KeyRing
    templates: Templates
    rails: Rails
