-- Invitations of people to the team of a merchant, and the kinds of emails about a team.

CREATE TABLE invitations (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    email text NOT NULL,
    email_key text NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'administrator', 'finance', 'support', 'developer', 'read_only')),
    invited_by uuid NOT NULL,
    mail_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    ended_at timestamptz,
    accepted_by uuid,
    CHECK (accepted_by IS NULL OR ended_at IS NOT NULL),
    PRIMARY KEY (merchant_id, id)
);
COMMENT ON COLUMN invitations.mail_id IS 'the email whose link accepts it: nothing else at rest does';
CREATE UNIQUE INDEX invitations_open ON invitations (merchant_id, email_key) WHERE ended_at IS NULL;
CREATE INDEX invitations_of_mail ON invitations (mail_id);
CREATE INDEX invitations_of_address ON invitations (email_key);

INSERT INTO mail_kinds (about) VALUES ('invitation'), ('team_left'), ('team_role_changed');
