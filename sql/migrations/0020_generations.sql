-- What a migration of models needs besides the rows of `generation`.

-- The highest revision of a document when the generation began. What is newer is an edit that must reach this
-- generation with the edit's own run; what is not is the backlog, which may take hours and keeps no edit waiting.
ALTER TABLE generation ADD COLUMN begun_at_revision bigint NOT NULL DEFAULT 0;

-- Why its last run ended early: the provider's answer, a cap. NULL: nothing is wrong.
ALTER TABLE generation ADD COLUMN problem text;
ALTER TABLE generation ADD COLUMN problem_at timestamptz;

-- Since when a switch to it is near: searchers load its model before they need it.
ALTER TABLE generation ADD COLUMN announced_at timestamptz;

-- What happened to generations, for people: who was promoted over a gate that did not pass, and why.
CREATE TABLE generation_event (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation_id   integer NOT NULL REFERENCES generation ON DELETE CASCADE,
    event           text NOT NULL CHECK (event IN ('begun', 'promoted', 'overridden', 'rolled back', 'retired')),
    detail          jsonb NOT NULL DEFAULT '{}',
    at              timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX generation_event_generation ON generation_event (generation_id);

-- Tokens and money by run and generation, written in the transaction that stores the vectors: a killed run's too.
CREATE TABLE spending (
    dagster_run     text NOT NULL,
    generation_id   integer NOT NULL REFERENCES generation ON DELETE CASCADE,
    texts           bigint NOT NULL,
    tokens          bigint NOT NULL,
    cost_usd        double precision NOT NULL,
    started_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dagster_run, generation_id)
);
CREATE INDEX spending_generation ON spending (generation_id);
