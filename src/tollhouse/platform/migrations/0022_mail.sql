-- E-mail: what is to be said to people is written with the deed that it is about, and sent by the worker.

ALTER TABLE users
    ADD COLUMN language text NOT NULL DEFAULT 'en' CHECK (language ~ '^[a-z]{2}$'),  -- of what is mailed to them
    ADD COLUMN verified_at timestamptz,  -- null: nobody has shown that they read what is sent to the address
    ADD COLUMN password_changed_at timestamptz;  -- null: it is the one of sign-up

-- Browsers that a person signed in with, by a digest of what they are and where they were: the table names neither.
CREATE TABLE known_devices (
    user_id uuid NOT NULL REFERENCES users,
    device_hash bytea NOT NULL CHECK (octet_length(device_hash) = 32),
    last_seen_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, device_hash)
);
CREATE INDEX known_devices_by_last_use ON known_devices (last_seen_at);

-- No row holds a secret: the link of a mail is its id under our MAC, made when it is sent. So a mail with a link is the link
-- too, which is used once.
CREATE TABLE mails (
    id uuid PRIMARY KEY,
    about text NOT NULL CHECK (about IN ('verify', 'reset', 'password_changed', 'new_device', 'factor_on', 'factor_off')),
    user_id uuid REFERENCES users,  -- null: an operator's, or whose it is is looked up when it is sent
    recipient text NOT NULL,
    language text NOT NULL CHECK (language ~ '^[a-z]{2}$'),
    facts jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    useful_until timestamptz NOT NULL CHECK (useful_until > created_at),
    attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz,  -- and whoever took it has it until then
    error text,  -- how the last attempt ended
    sent_at timestamptz,
    shown_at timestamptz,  -- there was no way to send it: it was shown in the log
    given_up_at timestamptz,
    used_at timestamptz CHECK (used_at IS NULL OR about IN ('verify', 'reset')),
    CONSTRAINT mails_one_end CHECK (num_nonnulls(next_attempt_at, sent_at, shown_at, given_up_at) = 1)
);
CREATE INDEX mails_due ON mails (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX mails_by_birth ON mails (created_at);
CREATE INDEX mails_of_user ON mails (user_id) WHERE used_at IS NULL AND about = 'reset';
