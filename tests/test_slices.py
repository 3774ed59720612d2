"""Every slice, operation and invariant of the package is registered."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import tollhouse
from tollhouse.http.operations import Operations
from tollhouse.http.slice import Slice
from tollhouse.instance.api import OPERATIONS
from tollhouse.instance.slices import INVARIANTS, SLICES
from tollhouse.platform.database.invariants import Invariant


def modules() -> Iterator[ModuleType]:
    """Every module of the package."""
    for module in pkgutil.walk_packages(tollhouse.__path__, "tollhouse."):
        if not module.name.endswith("__main__"):
            yield importlib.import_module(module.name)


def declared(kind: type) -> Iterator[object]:
    """The module-level values of this type."""
    for module in modules():
        yield from (value for value in vars(module).values() if isinstance(value, kind))


def test_every_slice_is_collected_once() -> None:
    assert {id(one) for one in declared(Slice)} == {id(slice_) for slice_ in SLICES}
    assert len(SLICES) == len({id(slice_) for slice_ in SLICES})


def test_every_operation_is_registered() -> None:
    registered = {id(operation) for operation in OPERATIONS}
    for operations in declared(Operations):
        assert isinstance(operations, Operations)
        assert not [operation.full_path for operation in operations if id(operation) not in registered]


def test_every_invariant_is_registered() -> None:
    found = [one for module in modules() for one in getattr(module, "INVARIANTS", ()) if isinstance(one, Invariant)]
    assert {id(invariant) for invariant in found} == {id(invariant) for invariant in INVARIANTS}


def test_every_job_has_its_own_name() -> None:
    """The log names a failed job by its function."""
    names = [(job.run.__module__, job.run.__qualname__) for slice_ in SLICES for job in slice_.jobs]
    assert len(names) == len(set(names)) > 20
