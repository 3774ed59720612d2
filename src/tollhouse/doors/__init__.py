"""The ways in. Each door lists the operations of the slices that stand behind it."""

import importlib
import pkgutil

import tollhouse
from tollhouse.web.operations import Operation, Operations


def _discover() -> list[Operation]:
    found: list[Operation] = []
    seen: set[int] = set()
    for part in ("doors.health", "merchants", "oauth", "payments", "webhooks"):
        try:
            module = importlib.import_module(f"tollhouse.{part}")
        except ModuleNotFoundError:
            continue
        modules = [module]
        if hasattr(module, "__path__"):
            modules += [importlib.import_module(f"tollhouse.{part}.{m.name}") for m in pkgutil.iter_modules(module.__path__)]
        for m in modules:
            for value in list(vars(m).values()):
                if isinstance(value, Operations) and id(value) not in seen:
                    seen.add(id(value))
                    found += value
    return found


OPERATIONS = _discover()
