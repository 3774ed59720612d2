"""No private key is in the database or the log, whatever was signed."""

from typing import Any

import pytest

from tests.rails.evm.paying import Payer
from tests.running import Service
from tollhouse.rails.evm.signer.wallet import PAYING

TABLES = """
    SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
PATHS = ("m", PAYING, "m/44'/60'/0'", "m/44'/60'/0'/0", "m/44'/60'/0'/0/0", "m/44'/60'/0'/0/1")


async def tables_with(service: Service, texts: list[str]) -> list[str]:
    """The tables in which one of these texts is, in small letters; bytes are searched as hexadecimal digits."""
    tables = [row["name"] for row in await service.sql(TABLES)]
    found = "SELECT FROM {} t, unnest($1::text[]) AS s WHERE strpos(lower(t::text), s) > 0 LIMIT 1"
    return [table for table in tables if await service.sql(found.format(table), texts)]


async def test_no_private_key_is_in_the_database_or_the_log(
    payer: Payer, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    order = await payer.order(1_000_000)
    await payer.pay(order)
    await payer.settle()
    assert await payer.check(order) == "completed"
    root: Any = vars(payer.signer.wallet)["_root"]
    words = payer.signer.policy.mnemonic_file.read_text().strip()
    keys = [root.get_privkey_from_path(path).hex() for path in PATHS]
    secrets = [words, *keys, *(root.get_xpriv_from_path(path).lower() for path in PATHS)]
    [tx_hash] = await payer.hashes(order)
    assert "chain_transactions" in await tables_with(service, [tx_hash])
    assert await tables_with(service, secrets) == []
    logged = capsys.readouterr().out.lower()
    assert tx_hash in logged
    assert [secret for secret in secrets if secret in logged] == []
