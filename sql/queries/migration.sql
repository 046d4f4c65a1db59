-- A migration from one model to another: who stands where, the switch, the end of a generation.

-- name: generation_details
SELECT g.id, g.model, g.dimensions, g.state, g.held, g.indexed, g.address, g.fingerprint, g.problem, g.problem_at, g.gate, g.created_at, g.announced_at,
       g.activated_at, g.left_at, g.retired_at,
       coalesce((SELECT sum(p.chunks) FROM publication p WHERE p.generation_id = g.id), 0)::bigint AS chunks,
       CASE WHEN g.state = 'retired' THEN 0 ELSE
           (SELECT count(*) FROM document d
            LEFT JOIN publication p ON (p.generation_id, p.document_id) = (g.id, d.id)
            WHERE d.described_from IS NOT NULL AND p.revision IS DISTINCT FROM d.revision) END AS documents_missing,
       CASE WHEN g.state = 'retired' THEN 0 ELSE
           (SELECT count(DISTINCT c.text_hash) FROM chunk c
            WHERE NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (g.fingerprint, c.text_hash))
              AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (g.fingerprint, c.text_hash)))
       END AS texts_missing,
       coalesce(pg_total_relation_size(to_regclass('knowledge_g' || g.id)), 0) AS bytes,
       coalesce((SELECT sum(s.tokens) FROM spending s WHERE s.generation_id = g.id), 0)::bigint AS tokens,
       coalesce((SELECT sum(s.cost_usd) FROM spending s WHERE s.generation_id = g.id), 0)::float8 AS cost_usd
FROM generation g
WHERE %(generation)s::integer IS NULL OR g.id = %(generation)s
ORDER BY g.id

-- name: generation_folders
-- Documents of each folder, and how many of them a generation holds at their present revision.
SELECT d.folder, count(*) AS documents, count(*) FILTER (WHERE p.revision = d.revision) AS published
FROM document d LEFT JOIN publication p ON (p.generation_id, p.document_id) = (%(generation)s, d.id)
WHERE d.described_from IS NOT NULL
GROUP BY d.folder ORDER BY d.folder

-- name: generation_vectors
-- Chunks of each folder, and how many of them have a vector under a generation's model, or never will.
SELECT d.folder, count(*) AS chunks,
       count(*) FILTER (WHERE EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (g.fingerprint, c.text_hash))
                           OR EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (g.fingerprint, c.text_hash)))
           AS embedded
FROM generation g CROSS JOIN chunk c JOIN document d ON d.id = c.document_id
WHERE g.id = %(generation)s
GROUP BY d.folder ORDER BY d.folder

-- name: backlog_folders
-- Folders with documents that a generation does not hold at their present revision though their chunks are made.
SELECT d.folder, count(*) AS documents
FROM document d LEFT JOIN publication p ON (p.generation_id, p.document_id) = (%(generation)s, d.id)
WHERE d.described_from IS NOT NULL AND p.revision IS DISTINCT FROM d.revision
GROUP BY d.folder ORDER BY d.folder

-- name: lag
-- Documents that another generation shows in a newer version than this one, or that it alone shows.
SELECT count(*) FROM publication other
LEFT JOIN publication mine ON (mine.generation_id, mine.document_id) = (%(generation)s, other.document_id)
WHERE other.generation_id = %(than)s AND other.revision > coalesce(mine.revision, -1)

-- name: mark_begun
UPDATE generation SET begun_at_revision = (SELECT coalesce(max(revision), 0) FROM document) WHERE id = %(generation)s

-- name: leave_active
UPDATE generation SET state = 'previous', left_at = now(), held = %(held)s WHERE state = 'active'

-- name: enter_active
UPDATE generation SET state = 'active', activated_at = now(), left_at = NULL, held = false, problem = NULL, announced_at = NULL
WHERE id = %(generation)s

-- name: retire_generation
UPDATE generation SET state = 'retired', retired_at = now(), held = coalesce(%(held)s, held), indexed = false, announced_at = NULL
WHERE id = %(generation)s

-- name: forget_publications
DELETE FROM publication WHERE generation_id = %(generation)s

-- name: drop_knowledge_table
DROP TABLE IF EXISTS {table}

-- name: release_held
-- The setting names another model now: what a rollback has held may be promoted when it is named again.
UPDATE generation SET held = false WHERE held AND fingerprint <> %(fingerprint)s

-- name: held_fingerprint
-- Whether a model was rolled back, or its build stopped by hand, and nobody has asked for it since.
SELECT held FROM generation WHERE fingerprint = %(fingerprint)s ORDER BY id DESC LIMIT 1

-- name: any_held
SELECT EXISTS (SELECT FROM generation WHERE held AND fingerprint <> %(fingerprint)s)

-- name: soaked
-- Previous generations whose time to go back is over.
SELECT id FROM generation WHERE state = 'previous' AND left_at <= now() - make_interval(secs => %(seconds)s) ORDER BY id

-- name: generation_size
SELECT coalesce(pg_total_relation_size(to_regclass(%(table)s)), 0)::bigint AS bytes,
       coalesce((SELECT sum(chunks) FROM publication WHERE generation_id = %(generation)s), 0)::bigint AS chunks

-- name: cache_size
-- Bytes of a model's vectors in the cache (the text-addressed table), without its index.
SELECT coalesce(sum(pg_column_size(vector)), 0)::bigint FROM embedding WHERE fingerprint = %(fingerprint)s

-- name: put_event
INSERT INTO generation_event (generation_id, event, detail) VALUES (%(generation)s, %(event)s, %(detail)s)

-- name: events_of
SELECT event, detail, at FROM generation_event WHERE generation_id = %(generation)s ORDER BY id

-- name: put_generation_problem
UPDATE generation SET problem = %(problem)s, problem_at = CASE WHEN %(problem)s::text IS NOT NULL THEN now() END
WHERE id = %(generation)s AND (problem IS NOT NULL OR %(problem)s::text IS NOT NULL)

-- name: recent_problems
SELECT id FROM generation WHERE problem_at > now() - make_interval(secs => %(seconds)s)

-- name: spend
INSERT INTO spending (dagster_run, generation_id, texts, tokens, cost_usd)
VALUES (%(run)s, %(generation)s, %(texts)s, %(tokens)s, %(cost_usd)s)
ON CONFLICT (dagster_run, generation_id) DO UPDATE
SET texts = spending.texts + excluded.texts, tokens = spending.tokens + excluded.tokens,
    cost_usd = spending.cost_usd + excluded.cost_usd, updated_at = now()

-- name: spending_of_run
SELECT s.generation_id, g.model, s.texts, s.tokens, s.cost_usd FROM spending s JOIN generation g ON g.id = s.generation_id
WHERE s.dagster_run = %(run)s ORDER BY s.generation_id

-- name: put_gate
UPDATE generation SET gate = %(gate)s WHERE id = %(generation)s

-- name: put_calibration
UPDATE generation SET calibration = %(calibration)s WHERE id = %(generation)s

-- name: announce
UPDATE generation SET announced_at = now() WHERE id = %(generation)s

-- name: canary_of
SELECT canary::text FROM generation WHERE id = %(generation)s

-- name: blockers_of_view
-- Who keeps the view, and for how long, so that a switch cannot replace it.
SELECT a.pid, a.application_name, extract(epoch FROM now() - a.xact_start)::integer AS seconds
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'relation' AND l.relation = 'knowledge'::regclass AND l.granted AND a.pid <> pg_backend_pid()
ORDER BY a.xact_start

-- name: invalid_indexes
-- What is left of an index build that was killed.
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass(%(table)s) AND NOT i.indisvalid

-- name: gate_state
-- What a verdict was about: it is asked for again when any of it has changed.
SELECT coalesce(max(p.revision), 0)::bigint, coalesce(sum(p.chunks), 0)::bigint, count(*)::bigint
FROM publication p WHERE p.generation_id = %(generation)s

-- name: sample_rows
-- Rows of one locale spread over the table, the same at every call: probes of the gate.
SELECT id, embedding::text FROM {table}
WHERE locale = %(locale)s AND embedding IS NOT NULL
ORDER BY hashint8(id) LIMIT %(limit)s

-- name: plan_totals
SELECT (SELECT count(*) FROM document WHERE content_hash IS NOT NULL AND excluded IS NULL) AS documents,
       (SELECT count(*) FROM chunk) AS chunks,
       (SELECT count(DISTINCT text_hash) FROM chunk) AS texts,
       (SELECT count(*) FROM (
            SELECT DISTINCT c.text_hash FROM chunk c JOIN embedding e ON (e.fingerprint, e.text_hash) = (%(fingerprint)s, c.text_hash)
        ) AS cached) AS cached,
       (SELECT coalesce(sum(tokens), 0) FROM (
            SELECT DISTINCT ON (c.text_hash) c.tokens FROM chunk c
            WHERE NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (%(fingerprint)s, c.text_hash))
              AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (%(fingerprint)s, c.text_hash))
        ) AS missing)::bigint AS chunker_tokens,
       (SELECT coalesce(sum(octet_length(content) + octet_length(context) + octet_length(section) + 160), 0) FROM chunk)::bigint AS text_bytes

-- name: plan_sample
-- Texts to embed, spread over the vault, the same at every call.
SELECT context, content, tokens FROM (
    SELECT DISTINCT ON (c.text_hash) c.text_hash, c.context, c.content, c.tokens FROM chunk c
    WHERE NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (%(fingerprint)s, c.text_hash))
      AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (%(fingerprint)s, c.text_hash))
) AS missing ORDER BY text_hash LIMIT %(limit)s

-- name: exact_neighbours
-- The addition keeps the planner from answering out of the index that is on trial.
SELECT id, 1 - (embedding <=> %(vector)s::vector({dimensions})) AS similarity FROM {table}
WHERE locale = %(locale)s AND embedding IS NOT NULL
ORDER BY (embedding <=> %(vector)s::vector({dimensions})) + 0 LIMIT %(limit)s
