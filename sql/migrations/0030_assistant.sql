-- The assistant: sessions, their turns, memories and leads.

CREATE TABLE chat_session (
    id              uuid PRIMARY KEY,
    title           text NOT NULL,
    documents       text[],           -- the only sources that it may search; NULL: all
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX chat_session_updated ON chat_session (updated_at);

-- A question and its answer. Text of notes is not copied: `sources` says which passages were shown, by document,
-- place and hash, and an answer that consists of passages (style "passages") is put together when it is read. So what
-- is taken out of a note, or a note that is taken out, is gone from here too.
CREATE TABLE chat_turn (
    id              uuid PRIMARY KEY,
    session_id      uuid NOT NULL REFERENCES chat_session ON DELETE CASCADE,
    ordinal         integer NOT NULL,
    question        text NOT NULL,
    locale          text NOT NULL DEFAULT '',
    query           text NOT NULL DEFAULT '',     -- what was searched for: the question, resolved
    rewritten       boolean NOT NULL DEFAULT false,
    style           text NOT NULL DEFAULT 'prose' CHECK (style IN ('prose', 'passages', 'fixed')),
    answer          text NOT NULL DEFAULT '',     -- as it was shown; so far, while the turn runs
    state           text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'complete', 'cancelled', 'failed')),
    answered        boolean NOT NULL DEFAULT false,
    problem         text,             -- why it failed
    removed_citations integer NOT NULL DEFAULT 0,
    sources         jsonb NOT NULL DEFAULT '[]',
    messages        jsonb,            -- what the model was told and said, in its library's own form, without passages
    model           text,
    input_tokens    integer NOT NULL DEFAULT 0,
    output_tokens   integer NOT NULL DEFAULT 0,
    cached_tokens   integer NOT NULL DEFAULT 0,
    cost_usd        double precision,
    cancel_asked    boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL DEFAULT now(),
    touched_at      timestamptz NOT NULL DEFAULT now(),   -- the process that answers says that it lives
    ended_at        timestamptz,
    UNIQUE (session_id, ordinal)
);
CREATE UNIQUE INDEX chat_turn_running ON chat_turn (session_id) WHERE state = 'running';

-- What people said about themselves and their work; never from notes.
CREATE TABLE chat_memory (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id      uuid REFERENCES chat_session ON DELETE CASCADE,
    kind            text NOT NULL CHECK (kind IN ('preference', 'fact', 'topic')),
    content         text NOT NULL,
    folded          text NOT NULL UNIQUE,         -- to know the same thing said again
    created_at      timestamptz NOT NULL DEFAULT now(),
    seen_at         timestamptz NOT NULL DEFAULT now()
);

-- People who want to be called back. They outlive the session: the team has to read them.
CREATE TABLE chat_lead (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id      uuid REFERENCES chat_session ON DELETE SET NULL,
    turn_id         uuid UNIQUE,      -- one lead a turn, also when its transaction is run again
    name            text NOT NULL,
    contact         text NOT NULL,
    interest        text NOT NULL,
    summary         text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now()
);
