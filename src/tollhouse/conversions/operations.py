"""Everything this slice offers at its doors."""

from tollhouse.conversions import api, rules_api

INTEGRATION_OPERATIONS = [*api.OPERATIONS, *rules_api.OPERATIONS]
