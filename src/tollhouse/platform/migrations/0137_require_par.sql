-- Applications can require that their authorization requests are pushed (RFC 9126 section 5).

ALTER TABLE oauth_clients ADD COLUMN require_par boolean NOT NULL DEFAULT false;
