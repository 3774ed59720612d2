"""The operations of this slice."""

from tollhouse.conversions import api, pages, rule_pages, rules_api

INTEGRATION_OPERATIONS = [*api.OPERATIONS, *rules_api.OPERATIONS]
PAGE_OPERATIONS = [*pages.OPERATIONS, *rule_pages.OPERATIONS]
