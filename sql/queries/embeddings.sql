-- Vectors by model and text.

-- name: pending_texts
-- Texts of these folders that have no vector under the model, of revisions after `since`. Sorted, so that two workers
-- ask for them alike.
SELECT c.text_hash, min(c.document_id) AS document_id, min(c.ordinal) AS ordinal
FROM chunk c JOIN document d ON d.id = c.document_id
WHERE d.folder = ANY(%(folders)s) AND d.revision > %(since)s
  AND NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (%(fingerprint)s, c.text_hash))
  AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (%(fingerprint)s, c.text_hash))
GROUP BY c.text_hash
ORDER BY c.text_hash
LIMIT %(limit)s

-- name: claim_texts
-- Session locks: whoever holds one embeds the texts whose hashes begin so; a killed process gives them back. 256 of them
-- for a model, however many texts are claimed: the server has room for some 6,000 locks of all sessions.
WITH part AS MATERIALIZED (SELECT DISTINCT left(text_hash, 2) AS start FROM unnest(%(hashes)s::text[]) AS t(text_hash))
SELECT start FROM part WHERE pg_try_advisory_lock(hashtextextended(%(fingerprint)s || start, 1))

-- name: release_texts
SELECT pg_advisory_unlock(hashtextextended(%(fingerprint)s || start, 1)) FROM unnest(%(parts)s::text[]) AS t(start)

-- name: texts_to_embed
-- The claimed texts that still have no vector: somebody may have finished between looking and claiming.
SELECT DISTINCT ON (c.text_hash) c.text_hash, c.context, c.content, d.source, c.section
FROM chunk c JOIN document d ON d.id = c.document_id
WHERE c.text_hash = ANY(%(hashes)s)
  AND NOT EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (%(fingerprint)s, c.text_hash))
  AND NOT EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (%(fingerprint)s, c.text_hash))
ORDER BY c.text_hash, d.id

-- name: put_embedding
INSERT INTO embedding (fingerprint, text_hash, vector, tokens, truncated, windowed) VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (fingerprint, text_hash) DO NOTHING

-- name: put_refusal
INSERT INTO refusal (fingerprint, text_hash, reason) VALUES (%s, %s, %s)
ON CONFLICT (fingerprint, text_hash) DO UPDATE SET reason = excluded.reason

-- name: mark_orphans
UPDATE embedding e SET orphaned_at = CASE WHEN used THEN NULL ELSE now() END
FROM (SELECT v.fingerprint, v.text_hash,
             EXISTS (SELECT FROM chunk c WHERE c.text_hash = v.text_hash)
             AND EXISTS (SELECT FROM generation g WHERE g.fingerprint = v.fingerprint AND g.state <> 'retired') AS used
      FROM embedding v) AS state
WHERE (e.fingerprint, e.text_hash) = (state.fingerprint, state.text_hash) AND (e.orphaned_at IS NULL) <> state.used

-- name: purge_embeddings
-- Looked at again, row by row: a text may have come back since it was marked.
DELETE FROM embedding e WHERE orphaned_at <= now() - make_interval(secs => %(seconds)s)
  AND NOT (EXISTS (SELECT FROM chunk c WHERE c.text_hash = e.text_hash)
           AND EXISTS (SELECT FROM generation g WHERE g.fingerprint = e.fingerprint AND g.state <> 'retired'))

-- name: purge_refusals
DELETE FROM refusal r WHERE NOT EXISTS (SELECT FROM chunk c WHERE c.text_hash = r.text_hash)
