"""Everything this slice offers at its doors."""

from tollhouse.withdrawals import api, sandbox_api

INTEGRATION_OPERATIONS = [*api.OPERATIONS, *sandbox_api.OPERATIONS]
