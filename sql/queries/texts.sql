-- parsed_text and chunks: what is pending is what the rows say, never what a run remembers.

-- name: pending_parses
-- Contents without a text under the wanted parser. One row a content, however many documents share it.
SELECT DISTINCT ON (d.content_hash, f.fingerprint)
       d.id, d.source, d.disk_path, d.media_type, d.content_hash, f.fingerprint, d.size
FROM document d
JOIN unnest(%(media_types)s::text[], %(fingerprints)s::text[]) AS f(media_type, fingerprint) USING (media_type)
WHERE d.folder = ANY(%(folders)s) AND d.content_hash IS NOT NULL
  AND NOT EXISTS (SELECT FROM parsed p WHERE (p.content_hash, p.fingerprint) = (d.content_hash, f.fingerprint))
  AND NOT EXISTS (SELECT FROM quarantine q WHERE q.document_id = d.id AND q.stage = 'parsed_text'
                  AND q.input = d.content_hash || '/' || f.fingerprint)
ORDER BY d.content_hash, f.fingerprint, d.id
LIMIT %(limit)s

-- name: put_parsed
INSERT INTO parsed (content_hash, fingerprint, body, content)
VALUES (%(content_hash)s, %(fingerprint)s, %(body)s, %(content)s)
ON CONFLICT (content_hash, fingerprint) DO UPDATE SET body = excluded.body, content = excluded.content

-- name: get_parsed
SELECT body, content FROM parsed WHERE content_hash = %(content_hash)s AND fingerprint = %(fingerprint)s

-- name: pending_chunks
-- Documents whose text is there and whose chunks or description were made from something else.
SELECT d.id, d.source, d.folder, d.content_hash, p.fingerprint, d.chunked_from, d.described_from, d.modified_from
FROM document d
JOIN unnest(%(media_types)s::text[], %(fingerprints)s::text[]) AS f(media_type, fingerprint) USING (media_type)
JOIN parsed p ON (p.content_hash, p.fingerprint) = (d.content_hash, f.fingerprint)
WHERE d.folder = ANY(%(folders)s)
  AND (d.chunked_from IS DISTINCT FROM p.content_hash || '/' || p.fingerprint || '/' || %(chunker)s
       OR d.described_from IS DISTINCT FROM p.content_hash || '/' || p.fingerprint || '/' || %(describer)s || '/' || d.source)
  AND NOT EXISTS (SELECT FROM quarantine q WHERE q.document_id = d.id AND q.stage = 'chunks'
                  AND q.input = d.content_hash || '/' || p.fingerprint || '/' || %(chunker)s)
ORDER BY d.id
LIMIT %(limit)s

-- name: lock_document
-- One writer a document. Empty when its content is no longer the one that was worked on: compare and swap.
SELECT id FROM document WHERE id = %(id)s AND content_hash = %(content_hash)s AND source = %(source)s FOR NO KEY UPDATE

-- name: chunk_hashes
SELECT text_hash FROM chunk WHERE document_id = %(id)s ORDER BY ordinal

-- name: delete_chunks
DELETE FROM chunk WHERE document_id = %(id)s

-- name: put_chunk
INSERT INTO chunk (document_id, ordinal, text_hash, context, content, section, char_start, char_end, line_start, line_end,
                   page_start, page_end, tokens)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: describe_document
UPDATE document
SET title = %(title)s, locale = %(locale)s, tags = %(tags)s, properties = %(properties)s, excluded = %(excluded)s,
    modified_at = CASE WHEN %(declared_date)s::timestamptz IS NOT NULL AND modified_from <> 'git'
                       THEN %(declared_date)s::timestamptz ELSE modified_at END,
    modified_from = CASE WHEN %(declared_date)s::timestamptz IS NOT NULL AND modified_from <> 'git'
                         THEN 'frontmatter' ELSE modified_from END,
    chunked_from = %(chunked_from)s, described_from = %(described_from)s, revision = nextval('document_revision')
WHERE id = %(id)s

-- name: delete_links
DELETE FROM link WHERE document_id = %(id)s

-- name: put_link
INSERT INTO link (document_id, position, target, anchor, kind) VALUES (%s, %s, %s, %s, %s)

-- name: all_links
SELECT d.source, l.document_id, l.position, l.target, l.anchor, l.kind, l.resolved
FROM link l JOIN document d ON d.id = l.document_id ORDER BY l.document_id, l.position

-- name: resolve_links
UPDATE link l SET resolved = v.resolved
FROM unnest(%(ids)s::bigint[], %(positions)s::int[], %(resolved)s::text[]) AS v(document_id, position, resolved)
WHERE (l.document_id, l.position) = (v.document_id, v.position)

-- name: link_state
SELECT coalesce(max(revision), 0), count(*), coalesce(max(id), 0) FROM document

-- name: purge_parsed
-- Texts that no document has any more. What left the vault lately is kept until its tombstone goes, so that a move
-- between two scans is not read again; what was edited or excluded in place goes at once.
DELETE FROM parsed p
WHERE (NOT EXISTS (SELECT FROM document d WHERE d.content_hash = p.content_hash)
       AND NOT EXISTS (SELECT FROM tombstone t WHERE t.content_hash = p.content_hash))
   OR (p.fingerprint <> ALL(%(fingerprints)s)
       AND NOT EXISTS (SELECT FROM document d WHERE d.content_hash = p.content_hash
                       AND d.chunked_from LIKE p.content_hash || '/' || p.fingerprint || '/%%'))

-- name: purge_due
-- Whether one of the two purges would find something: a killed run leaves its upkeep to the next one.
SELECT EXISTS (SELECT FROM tombstone WHERE deleted_at < now() - make_interval(secs => %(seconds)s))
    OR EXISTS (SELECT FROM parsed p
               WHERE NOT EXISTS (SELECT FROM document d WHERE d.content_hash = p.content_hash)
                 AND NOT EXISTS (SELECT FROM tombstone t WHERE t.content_hash = p.content_hash))
    OR EXISTS (SELECT FROM parsed p
               WHERE p.fingerprint <> ALL(%(fingerprints)s)
                 AND NOT EXISTS (SELECT FROM document d WHERE d.content_hash = p.content_hash
                                 AND d.chunked_from LIKE p.content_hash || '/' || p.fingerprint || '/%%'))

-- name: purge_tombstones
DELETE FROM tombstone WHERE deleted_at < now() - make_interval(secs => %(seconds)s)

-- name: notes_digest
SELECT md5(coalesce(string_agg(source || chr(10) || content_hash, chr(10) ORDER BY source), ''))
FROM document WHERE media_type = 'markdown' AND content_hash IS NOT NULL AND NOT starts_with(source, '.uploads/')

-- name: notes
-- What an embed may put in place: notes of the vault, never what somebody uploaded.
SELECT source, disk_path FROM document
WHERE media_type = 'markdown' AND content_hash IS NOT NULL AND excluded IS NULL AND NOT starts_with(source, '.uploads/')
