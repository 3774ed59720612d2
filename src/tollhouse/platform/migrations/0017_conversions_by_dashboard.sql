-- Conversion rules are made by people at the dashboard too.

ALTER TABLE conversion_rules
    DROP CONSTRAINT conversion_rules_created_by_type_check,
    ADD CONSTRAINT conversion_rules_created_by_type_check CHECK (created_by_type IN ('api_key', 'oauth', 'dashboard'));
