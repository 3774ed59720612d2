-- What an application shows on the consent page: its logo, privacy policy and terms.

ALTER TABLE oauth_clients ADD COLUMN logo_uri text;
ALTER TABLE oauth_clients ADD COLUMN policy_uri text;
ALTER TABLE oauth_clients ADD COLUMN tos_uri text;
