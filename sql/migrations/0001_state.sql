-- The state of the pipeline: what is in the vault, what was made of it, and which index serves.

CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS unaccent;

-- One file of the vault. `id` survives renames: a move updates `source` and `folder` and nothing is made again.
CREATE TABLE document (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source          text COLLATE "C" NOT NULL UNIQUE,
    disk_path       bytea NOT NULL,
    folder          text COLLATE "C" NOT NULL,
    media_type      text NOT NULL,
    size            bigint NOT NULL,
    mtime_ns        bigint NOT NULL,
    content_hash    text,             -- NULL: never read (a problem file), or left out before it was read
    verified_ns     bigint NOT NULL,  -- wall clock when the bytes were last hashed; see FindChanges for the race it closes
    modified_at     timestamptz NOT NULL,
    modified_from   text NOT NULL CHECK (modified_from IN ('git', 'frontmatter', 'mtime')),
    commit_id       text,
    excluded        text,             -- the rule that leaves it out, in words; NULL: it takes part
    chunked_from    text,             -- content hash and fingerprints that the rows of `chunk` were made from
    described_from  text,             -- the same for title, locale, tags, properties and links
    revision        bigint NOT NULL DEFAULT 0, -- grows with every change that readers must see
    title           text NOT NULL DEFAULT '',
    locale          text NOT NULL DEFAULT '',
    tags            text[] NOT NULL DEFAULT '{}',
    properties      jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX document_folder ON document (folder);
CREATE INDEX document_content ON document (content_hash);

CREATE SEQUENCE document_revision AS bigint;

-- Documents whose current version could not be processed; their last good version keeps serving.
-- `input` is what failed (content hash and fingerprint): another input, or a retry, clears the way.
CREATE TABLE quarantine (
    document_id     bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    stage           text NOT NULL CHECK (stage IN ('raw_files', 'parsed_text', 'chunks', 'embeddings')),
    input           text NOT NULL,
    reason          text NOT NULL,
    since           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (document_id, stage)
);

-- What left the vault lately, so that a move between two scans costs no parsing and keeps its date.
CREATE TABLE tombstone (
    source          text COLLATE "C" NOT NULL PRIMARY KEY,
    content_hash    text NOT NULL,
    modified_at     timestamptz NOT NULL,
    modified_from   text NOT NULL,
    deleted_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX tombstone_content ON tombstone (content_hash);

-- The readable text of one content under one parser; a moved PDF is not read again.
CREATE TABLE parsed (
    content_hash    text NOT NULL,
    fingerprint     text NOT NULL,
    body            jsonb NOT NULL,   -- ParsedDocument without its text
    content         text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (content_hash, fingerprint)
);

CREATE TABLE chunk (
    document_id     bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    ordinal         integer NOT NULL,
    text_hash       text NOT NULL,
    context         text NOT NULL,    -- heading path embedded in front of the content, or empty
    content         text NOT NULL,
    section         text NOT NULL,
    char_start      integer NOT NULL,
    char_end        integer NOT NULL,
    line_start      integer NOT NULL,
    line_end        integer NOT NULL,
    page_start      integer,
    page_end        integer,
    tokens          integer NOT NULL,
    PRIMARY KEY (document_id, ordinal)
);
CREATE INDEX chunk_text_hash ON chunk (text_hash);

-- Links between notes, as written and where they lead (NULL: nowhere in this vault).
CREATE TABLE link (
    document_id     bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    position        integer NOT NULL,
    target          text NOT NULL,
    anchor          text,
    kind            text NOT NULL,
    resolved        text,
    PRIMARY KEY (document_id, position)
);
CREATE INDEX link_resolved ON link (resolved);

-- Vectors by model and text: the same text is embedded once, anywhere. Rows of many models live here, so the
-- column carries no dimension; vectors are compared only inside a generation's own table.
CREATE TABLE embedding (
    fingerprint     text NOT NULL,
    text_hash       text NOT NULL,
    vector          vector NOT NULL,
    tokens          integer NOT NULL,
    truncated       boolean NOT NULL DEFAULT false,
    windowed        boolean NOT NULL DEFAULT false,
    orphaned_at     timestamptz,      -- since when no chunk needs it; NULL: needed, or not looked at yet
    PRIMARY KEY (fingerprint, text_hash)
);
CREATE INDEX embedding_orphaned ON embedding (orphaned_at) WHERE orphaned_at IS NOT NULL;
ALTER TABLE embedding ALTER COLUMN vector SET STORAGE EXTERNAL; -- floats do not compress: do not try

-- Texts that a provider will never accept.
CREATE TABLE refusal (
    fingerprint     text NOT NULL,
    text_hash       text NOT NULL,
    reason          text NOT NULL,
    since           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (fingerprint, text_hash)
);

-- One model's complete index. Search reads the active one; every live one (building, active, previous) is written.
CREATE TABLE generation (
    id              integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model           text NOT NULL,
    fingerprint     text NOT NULL,
    spec            jsonb NOT NULL,
    address         text,
    dimensions      integer NOT NULL CHECK (dimensions BETWEEN 1 AND 16000),
    state           text NOT NULL CHECK (state IN ('building', 'active', 'previous', 'retired')),
    indexed         boolean NOT NULL DEFAULT false,  -- its HNSW indexes exist
    held            boolean NOT NULL DEFAULT false,  -- left by a rollback: not promoted again by itself
    canary          vector,
    calibration     jsonb NOT NULL DEFAULT '{}',     -- thresholds and fusion weights per locale
    gate            jsonb,
    created_at      timestamptz NOT NULL DEFAULT now(),
    activated_at    timestamptz,
    left_at         timestamptz,
    retired_at      timestamptz
);
CREATE UNIQUE INDEX generation_one_building ON generation ((true)) WHERE state = 'building';
CREATE UNIQUE INDEX generation_one_active ON generation ((true)) WHERE state = 'active';
CREATE UNIQUE INDEX generation_one_live ON generation (fingerprint) WHERE state <> 'retired';

-- Which revision of a document a generation's table holds.
CREATE TABLE publication (
    generation_id   integer NOT NULL REFERENCES generation ON DELETE CASCADE,
    document_id     bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    revision        bigint NOT NULL,
    chunks          integer NOT NULL,
    PRIMARY KEY (generation_id, document_id)
);
CREATE INDEX publication_document ON publication (document_id);

-- Where a document stands, for people and BI. (Whether a newer parser or chunker wants it again is the code's to know.)
CREATE VIEW document_status AS
SELECT d.source, d.folder,
       CASE WHEN EXISTS (SELECT FROM quarantine q WHERE q.document_id = d.id) THEN 'quarantined'
            WHEN d.excluded IS NOT NULL THEN 'excluded'
            WHEN p.revision = d.revision AND starts_with(d.chunked_from, d.content_hash || '/') THEN 'indexed'
            ELSE 'pending' END AS state,
       coalesce((SELECT min(q.reason) FROM quarantine q WHERE q.document_id = d.id), d.excluded) AS reason,
       d.size, d.media_type, d.modified_at, d.modified_from, d.commit_id, coalesce(p.chunks, 0) AS chunks
FROM document d
LEFT JOIN publication p ON p.document_id = d.id AND p.generation_id = (
    SELECT g.id FROM generation g WHERE g.state IN ('active', 'building') ORDER BY g.state LIMIT 1
);

-- Facts about the vault as a whole: the commit whose dates are stored, the last scan.
CREATE TABLE vault_fact (
    name            text PRIMARY KEY,
    value           jsonb NOT NULL,
    updated_at      timestamptz NOT NULL DEFAULT now()
);

-- What every run did and spent.
CREATE TABLE run_ledger (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dagster_run     text,
    stage           text NOT NULL,
    generation_id   integer,
    folders         text[] NOT NULL DEFAULT '{}',
    figures         jsonb NOT NULL DEFAULT '{}',
    started_at      timestamptz NOT NULL,
    seconds         double precision NOT NULL
);
CREATE INDEX run_ledger_started ON run_ledger (started_at);

-- The stable contract for readers: replaced at every switch by a view on the active generation's table.
-- The embedding's type carries no dimension, so that replacing the view changes no column's type.
CREATE VIEW knowledge AS
SELECT NULL::text AS source, NULL::integer AS ordinal, NULL::text AS folder, NULL::text AS title,
       NULL::text AS section, NULL::text AS content, NULL::text AS locale, NULL::integer AS line_start,
       NULL::integer AS line_end, NULL::integer AS page_start, NULL::integer AS page_end, NULL::text[] AS tags,
       NULL::jsonb AS properties, NULL::timestamptz AS modified_at, NULL::vector AS embedding,
       NULL::integer AS generation_id
WHERE false;
