-- Uploaded files: sources that begin with `.uploads/`.

-- name: upload_states
SELECT s.source, d.content_hash, s.state, s.reason
FROM document_status s JOIN document d USING (source) WHERE starts_with(s.source, '.uploads/') ORDER BY s.source

-- name: upload_steps
-- How far one document is in the generation that serves, or in the one that is being built before any does.
WITH wanted AS (SELECT fingerprint FROM generation WHERE state IN ('active', 'building') ORDER BY state LIMIT 1),
words AS (
    SELECT DISTINCT c.text_hash FROM chunk c JOIN document d ON d.id = c.document_id WHERE d.source = %(source)s
)
SELECT s.source, d.content_hash, s.state, s.reason,
       EXISTS (SELECT FROM parsed p WHERE p.content_hash = d.content_hash) AS parsed,
       coalesce(starts_with(d.chunked_from, d.content_hash || '/'), false) AS chunked,
       (SELECT count(*) FROM chunk c WHERE c.document_id = d.id) AS chunks,
       (SELECT count(*) FROM words) AS texts,
       (SELECT count(*) FROM words w JOIN wanted g ON true
        WHERE EXISTS (SELECT FROM embedding e WHERE (e.fingerprint, e.text_hash) = (g.fingerprint, w.text_hash))
           OR EXISTS (SELECT FROM refusal r WHERE (r.fingerprint, r.text_hash) = (g.fingerprint, w.text_hash))) AS embedded
FROM document_status s JOIN document d USING (source) WHERE s.source = %(source)s

-- name: upload_row
SELECT id FROM document WHERE source = %(source)s
