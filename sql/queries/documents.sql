-- Files of the vault as rows: what a scan compares with, and what it changes.

-- name: known_documents
SELECT d.id, d.source, d.folder, d.size, d.mtime_ns, d.content_hash, d.verified_ns, d.chunked_from IS NOT NULL AS chunked,
       CASE WHEN d.content_hash IS NULL THEN d.excluded END AS left_out, q.reason AS problem
FROM document d
LEFT JOIN quarantine q ON q.document_id = d.id AND q.stage = 'raw_files'

-- name: put_document
-- A new file, or new content of a known one. The chunks stay and the revision too: both change when the new text is ready.
INSERT INTO document (source, disk_path, folder, media_type, size, mtime_ns, content_hash, verified_ns,
                      modified_at, modified_from, commit_id)
VALUES (%(source)s, %(disk_path)s, %(folder)s, %(media_type)s, %(size)s, %(mtime_ns)s, %(content_hash)s,
        %(verified_ns)s, %(modified_at)s, %(modified_from)s, %(commit_id)s)
ON CONFLICT (source) DO UPDATE
SET disk_path = excluded.disk_path, folder = excluded.folder, media_type = excluded.media_type, size = excluded.size,
    mtime_ns = excluded.mtime_ns, content_hash = excluded.content_hash, verified_ns = excluded.verified_ns,
    modified_at = excluded.modified_at, modified_from = excluded.modified_from, commit_id = excluded.commit_id,
    excluded = NULL,
    -- An edit may be undone before its chunks were made: the date and the words about it are due again all the same.
    described_from = CASE WHEN document.described_from IS NOT NULL THEN '' END
RETURNING id

-- name: clear_quarantine
DELETE FROM quarantine WHERE document_id = ANY(%(ids)s)

-- name: move_document
-- The same content under another name: the row, its chunks and its vectors stay.
UPDATE document
SET source = %(source)s, disk_path = %(disk_path)s, folder = %(folder)s, media_type = %(media_type)s,
    mtime_ns = %(mtime_ns)s, verified_ns = %(verified_ns)s, revision = nextval('document_revision')
WHERE id = %(id)s

-- name: verify_documents
-- Same bytes: only what the next scan compares with has changed.
UPDATE document d SET size = v.size, mtime_ns = v.mtime_ns, verified_ns = v.verified_ns
FROM unnest(%(ids)s::bigint[], %(sizes)s::bigint[], %(mtimes)s::bigint[], %(verified)s::bigint[])
     AS v(id, size, mtime_ns, verified_ns)
WHERE d.id = v.id

-- name: bury_documents
INSERT INTO tombstone (source, content_hash, modified_at, modified_from)
SELECT source, content_hash, modified_at, modified_from FROM document
WHERE id = ANY(%(ids)s) AND content_hash IS NOT NULL AND excluded IS NULL
ON CONFLICT (source) DO UPDATE
SET content_hash = excluded.content_hash, modified_at = excluded.modified_at,
    modified_from = excluded.modified_from, deleted_at = now()

-- name: delete_documents
-- Chunks, links and the rows of every generation go with it, in this transaction.
DELETE FROM document WHERE id = ANY(%(ids)s)

-- name: tombstones_of
SELECT DISTINCT ON (content_hash) content_hash, source, modified_at, modified_from
FROM tombstone WHERE content_hash = ANY(%(hashes)s) ORDER BY content_hash, deleted_at DESC

-- name: drop_tombstones
DELETE FROM tombstone WHERE source = ANY(%(sources)s)

-- name: put_left_out
-- A file that a rule leaves out holds nothing but its name and the rule.
INSERT INTO document (source, disk_path, folder, media_type, size, mtime_ns, verified_ns, modified_at, modified_from, excluded)
VALUES (%(source)s, %(disk_path)s, %(folder)s, %(media_type)s, %(size)s, %(mtime_ns)s, 0,
        to_timestamp(%(mtime_ns)s / 1e9), 'mtime', %(excluded)s)
ON CONFLICT (source) DO UPDATE SET excluded = excluded.excluded, size = excluded.size, mtime_ns = excluded.mtime_ns

-- name: put_problem
-- A file that is there and cannot be read. What was read of it before keeps serving.
WITH row AS (
    INSERT INTO document (source, disk_path, folder, media_type, size, mtime_ns, verified_ns, modified_at, modified_from)
    VALUES (%(source)s, %(disk_path)s, %(folder)s, %(media_type)s, %(size)s, %(mtime_ns)s, 0,
            to_timestamp(%(mtime_ns)s / 1e9), 'mtime')
    ON CONFLICT (source) DO UPDATE
    SET disk_path = excluded.disk_path, excluded = CASE WHEN document.content_hash IS NOT NULL THEN document.excluded END
    RETURNING id
)
INSERT INTO quarantine (document_id, stage, input, reason)
SELECT id, 'raw_files', '', %(reason)s FROM row
ON CONFLICT (document_id, stage) DO UPDATE SET reason = excluded.reason

-- name: put_quarantine
INSERT INTO quarantine (document_id, stage, input, reason)
SELECT id, %(stage)s, %(input)s, %(reason)s FROM document WHERE id = %(id)s
ON CONFLICT (document_id, stage) DO UPDATE SET input = excluded.input, reason = excluded.reason, since = now()

-- name: refolder
UPDATE document d SET folder = v.folder, revision = nextval('document_revision')
FROM unnest(%(ids)s::bigint[], %(folders)s::text[]) AS v(id, folder)
WHERE d.id = v.id

-- name: date_documents
-- Dates from git for documents whose stored date is another.
UPDATE document d
SET modified_at = v.modified_at, modified_from = 'git', commit_id = v.commit_id, revision = nextval('document_revision')
FROM unnest(%(sources)s::text[], %(dates)s::timestamptz[], %(commits)s::text[]) AS v(source, modified_at, commit_id)
WHERE d.source = v.source
  AND (d.modified_at, d.modified_from, d.commit_id) IS DISTINCT FROM (v.modified_at, 'git', v.commit_id)

-- name: get_fact
SELECT value FROM vault_fact WHERE name = %(name)s

-- name: put_fact
INSERT INTO vault_fact (name, value) VALUES (%(name)s, %(value)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = now()

-- name: folders
SELECT DISTINCT folder FROM document ORDER BY folder

-- name: quarantined
SELECT d.source, q.stage, q.reason, q.since FROM quarantine q JOIN document d ON d.id = q.document_id
ORDER BY d.source, q.stage

-- name: retry_quarantined
DELETE FROM quarantine q USING document d
WHERE d.id = q.document_id AND (%(sources)s::text[] IS NULL OR d.source = ANY(%(sources)s))
RETURNING d.source
