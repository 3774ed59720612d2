-- Filters of lists that a user has saved under a name: the query string of the list, without the part of the list that is shown.
CREATE TABLE saved_filters (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    list_name text NOT NULL CHECK (char_length(list_name) BETWEEN 1 AND 40),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
    query text NOT NULL CHECK (char_length(query) BETWEEN 1 AND 2000),
    created_at timestamptz NOT NULL,
    CONSTRAINT saved_filters_name UNIQUE (user_id, mode, list_name, name)
);
