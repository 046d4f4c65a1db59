-- A generation's row and its table. `{table}` is knowledge_gN.

-- name: create_knowledge_table
-- Rows are keyed by document and text, not by position: a paragraph inserted at the top shifts ordinals and lines of a
-- thousand rows, and none of these columns is indexed, so that no row enters the vector index again (heap-only update).
-- That needs room for a page's rows twice: pages are filled to less than half, and everything long (content, lexemes,
-- vector) is stored outside of them, so that the table is smaller all the same. Measured: docs/decisions/0007-retrieval.md.
CREATE TABLE {table} (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document_id     bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    ordinal         integer NOT NULL,
    text_hash       text NOT NULL,
    source          text NOT NULL,
    folder          text NOT NULL,
    title           text NOT NULL,
    section         text NOT NULL,
    context         text NOT NULL,
    content         text NOT NULL,
    locale          text NOT NULL,
    line_start      integer NOT NULL,
    line_end        integer NOT NULL,
    page_start      integer,
    page_end        integer,
    tags            text[] NOT NULL,
    properties      jsonb NOT NULL,
    modified_at     timestamptz NOT NULL,
    embedding       vector({dimensions}),
    search          tsvector NOT NULL, -- filled by a trigger, from locale, title, section and content only
    words           integer NOT NULL
) WITH (fillfactor = 45, toast_tuple_target = 256)

-- name: create_knowledge_key
-- Several statements, without parameters. Triggers keep the lexemes right whoever writes, and the term statistics true.
CREATE INDEX ON {table} (document_id);
CREATE TRIGGER fill_search BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fill_search();
CREATE TRIGGER fill_search_again BEFORE UPDATE ON {table} FOR EACH ROW
    WHEN ((OLD.locale, OLD.title, OLD.section, OLD.text_hash) IS DISTINCT FROM (NEW.locale, NEW.title, NEW.section, NEW.text_hash))
    EXECUTE FUNCTION fill_search();
CREATE TRIGGER count_inserts AFTER INSERT ON {table} REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_search_inserts({generation});
CREATE TRIGGER count_deletes AFTER DELETE ON {table} REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_search_deletes({generation});
CREATE TRIGGER count_updates AFTER UPDATE ON {table} REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_search_updates({generation})

-- name: publish_delete
-- Rows of texts that the documents no longer have. Equal texts of one document are told apart by their order.
WITH wanted AS (
    SELECT document_id, text_hash, row_number() OVER (PARTITION BY document_id, text_hash ORDER BY ordinal) AS copy
    FROM chunk WHERE document_id = ANY(%(ids)s)
), held AS (
    SELECT id, document_id, text_hash, row_number() OVER (PARTITION BY document_id, text_hash ORDER BY ordinal, id) AS copy
    FROM {table} WHERE document_id = ANY(%(ids)s)
)
DELETE FROM {table} WHERE id IN (
    SELECT h.id FROM held h LEFT JOIN wanted w USING (document_id, text_hash, copy) WHERE w.document_id IS NULL
)

-- name: publish_update
WITH wanted AS (
    SELECT c.*, d.source, d.folder, d.title, d.locale, d.tags, d.properties, d.modified_at,
           row_number() OVER (PARTITION BY c.document_id, c.text_hash ORDER BY c.ordinal) AS copy
    FROM chunk c JOIN document d ON d.id = c.document_id WHERE c.document_id = ANY(%(ids)s)
), held AS (
    SELECT id, document_id, text_hash, row_number() OVER (PARTITION BY document_id, text_hash ORDER BY ordinal, id) AS copy
    FROM {table} WHERE document_id = ANY(%(ids)s)
)
UPDATE {table} k
SET ordinal = w.ordinal, source = w.source, folder = w.folder, title = w.title, section = w.section, locale = w.locale,
    line_start = w.line_start, line_end = w.line_end, page_start = w.page_start, page_end = w.page_end, tags = w.tags,
    properties = w.properties, modified_at = w.modified_at
FROM held h JOIN wanted w USING (document_id, text_hash, copy)
WHERE k.id = h.id
  AND (k.ordinal, k.source, k.folder, k.title, k.section, k.locale, k.line_start, k.line_end, k.page_start, k.page_end,
       k.tags, k.properties, k.modified_at)
      IS DISTINCT FROM
      (w.ordinal, w.source, w.folder, w.title, w.section, w.locale, w.line_start, w.line_end, w.page_start, w.page_end,
       w.tags, w.properties, w.modified_at)

-- name: publish_insert
WITH wanted AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.document_id, c.text_hash ORDER BY c.ordinal) AS copy
    FROM chunk c WHERE c.document_id = ANY(%(ids)s)
), held AS (
    SELECT document_id, text_hash, row_number() OVER (PARTITION BY document_id, text_hash ORDER BY ordinal, id) AS copy
    FROM {table} WHERE document_id = ANY(%(ids)s)
)
INSERT INTO {table} (document_id, ordinal, text_hash, source, folder, title, section, context, content, locale, line_start,
                     line_end, page_start, page_end, tags, properties, modified_at, embedding)
SELECT w.document_id, w.ordinal, w.text_hash, d.source, d.folder, d.title, w.section, w.context, w.content, d.locale,
       w.line_start, w.line_end, w.page_start, w.page_end, d.tags, d.properties, d.modified_at, e.vector
FROM wanted w
JOIN document d ON d.id = w.document_id
LEFT JOIN held h USING (document_id, text_hash, copy)
LEFT JOIN embedding e ON (e.fingerprint, e.text_hash) = (%(fingerprint)s, w.text_hash)
WHERE h.document_id IS NULL
ORDER BY w.document_id, w.ordinal

-- name: publish_record
INSERT INTO publication (generation_id, document_id, revision, chunks)
SELECT %(generation)s, d.id, d.revision, (SELECT count(*) FROM chunk c WHERE c.document_id = d.id)
FROM document d WHERE d.id = ANY(%(ids)s)
ON CONFLICT (generation_id, document_id) DO UPDATE SET revision = excluded.revision, chunks = excluded.chunks

-- name: pending_publications
-- Documents whose chunks are made, whose vectors are all there (or refused for good), and whose revision is not yet in
-- the generation's table.
SELECT d.id FROM document d
LEFT JOIN publication p ON p.document_id = d.id AND p.generation_id = %(generation)s
WHERE d.folder = ANY(%(folders)s) AND d.described_from IS NOT NULL AND p.revision IS DISTINCT FROM d.revision
  AND d.revision > %(since)s
  AND NOT EXISTS (
      SELECT FROM chunk c WHERE c.document_id = d.id
      AND NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (%(fingerprint)s, c.text_hash))
      AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (%(fingerprint)s, c.text_hash)))
ORDER BY d.id
LIMIT %(limit)s

-- name: lock_publishable
-- In one order, like every writer. A statement of its own: who waits for a lock goes on with the snapshot from before
-- the wait, in which the chunks are still the old ones.
SELECT id FROM document WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE

-- name: publishable
-- The same question again with the rows locked: what changed meanwhile waits for its own turn.
SELECT d.id FROM document d
WHERE d.id = ANY(%(ids)s)
  AND NOT EXISTS (
      SELECT FROM chunk c WHERE c.document_id = d.id
      AND NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (%(fingerprint)s, c.text_hash))
      AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (%(fingerprint)s, c.text_hash)))
ORDER BY d.id

-- name: unpublish
DELETE FROM {table} WHERE document_id = ANY(%(ids)s)

-- name: live_generations
SELECT id, model, fingerprint, spec, address, dimensions, state, indexed, held, calibration, begun_at_revision
FROM generation WHERE state <> 'retired' ORDER BY id

-- name: announced_generation
SELECT id, model, fingerprint, spec, address, dimensions, state, indexed, held, calibration, begun_at_revision
FROM generation WHERE announced_at > now() - interval '1 hour' AND state IN ('building', 'previous')
ORDER BY announced_at DESC LIMIT 1

-- name: all_generations
SELECT id, model, fingerprint, spec, address, dimensions, state, indexed, held, calibration, begun_at_revision
FROM generation ORDER BY id

-- name: add_generation
INSERT INTO generation (model, fingerprint, spec, address, dimensions, state, canary)
VALUES (%(model)s, %(fingerprint)s, %(spec)s, %(address)s, %(dimensions)s, 'building', %(canary)s)
RETURNING id

-- name: generation_gaps
-- What a generation still lacks: documents not published at their present revision, chunks without a vector.
SELECT (SELECT count(*) FROM document d LEFT JOIN publication p
            ON p.document_id = d.id AND p.generation_id = g.id
        WHERE d.content_hash IS NOT NULL AND d.chunked_from IS NOT NULL AND p.revision IS DISTINCT FROM d.revision) AS documents,
       (SELECT count(*) FROM chunk c
        WHERE NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (g.fingerprint, c.text_hash))
          AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (g.fingerprint, c.text_hash))) AS chunks
FROM generation g WHERE g.id = %(generation)s

-- name: replace_view
-- Replacing keeps grants and dependent objects; the types stay the same because `embedding` carries no dimension.
CREATE OR REPLACE VIEW knowledge AS
SELECT source, ordinal, folder, title, section, content, locale, line_start, line_end, page_start, page_end, tags,
       properties, modified_at, embedding::vector AS embedding, {generation}::integer AS generation_id, search
FROM {table}
