-- The environment of the last page that a user opened in the dashboard. NULL: none yet.
ALTER TABLE users ADD COLUMN dashboard_mode text CHECK (dashboard_mode IN ('live', 'test'));
