-- What `vaultline status`, the checks and the sensors ask.

-- name: pending_folders
-- Folders with work left for any stage, given what the settings want. While one generation serves, what another one's
-- first build still lacks is not counted: that is a migration's backlog (`backlog_folders`), which no edit waits for.
WITH wanted AS (
    SELECT * FROM unnest(%(media_types)s::text[], %(fingerprints)s::text[]) AS f(media_type, fingerprint)
), work AS (
    SELECT d.folder, d.id
    FROM document d JOIN wanted f USING (media_type)
    LEFT JOIN parsed p ON (p.content_hash, p.fingerprint) = (d.content_hash, f.fingerprint)
    WHERE d.content_hash IS NOT NULL
      AND (p.content_hash IS NULL
           OR d.chunked_from IS DISTINCT FROM p.content_hash || '/' || p.fingerprint || '/' || %(chunker)s
           OR d.described_from
              IS DISTINCT FROM p.content_hash || '/' || p.fingerprint || '/' || %(describer)s || '/' || d.source)
      AND NOT EXISTS (
          SELECT FROM quarantine q WHERE q.document_id = d.id
          AND q.input IN (d.content_hash || '/' || f.fingerprint, d.content_hash || '/' || f.fingerprint || '/' || %(chunker)s))
    UNION
    SELECT d.folder, d.id
    FROM generation g CROSS JOIN document d
    LEFT JOIN publication p ON (p.generation_id, p.document_id) = (g.id, d.id)
    WHERE g.state <> 'retired' AND d.described_from IS NOT NULL AND p.revision IS DISTINCT FROM d.revision
      AND (g.state = 'active' OR NOT EXISTS (SELECT FROM generation WHERE state = 'active'))
)
SELECT folder, count(*) FROM work GROUP BY folder ORDER BY folder

-- name: count_states
SELECT state, count(*) FROM document_status GROUP BY state

-- name: folder_report
SELECT s.folder, count(*) FILTER (WHERE s.state <> 'excluded') AS documents, sum(s.chunks) AS chunks
FROM document_status s GROUP BY s.folder ORDER BY s.folder

-- name: count_chunks
SELECT count(*) FROM chunk

-- name: generation_report
SELECT g.id, g.model, g.dimensions, g.state,
       coalesce((SELECT sum(p.chunks) FROM publication p WHERE p.generation_id = g.id), 0) AS chunks,
       CASE WHEN g.state = 'retired' THEN 0 ELSE
           (SELECT count(*) FROM chunk c
            LEFT JOIN publication p ON (p.generation_id, p.document_id) = (g.id, c.document_id)
            JOIN document d ON d.id = c.document_id
            WHERE p.revision IS DISTINCT FROM d.revision) END AS missing
FROM generation g ORDER BY g.id

-- name: reused_since
-- Distinct texts of the chunks of documents: how many a run needed, whatever it computed.
SELECT count(DISTINCT c.text_hash) FROM chunk c JOIN document d ON d.id = c.document_id WHERE d.id = ANY(%(ids)s)

-- name: check_vectors
-- Rows of a generation's table without a vector though the provider did not refuse the text, and with a useless one.
SELECT count(*) FILTER (WHERE k.embedding IS NULL AND r.text_hash IS NULL) AS missing,
       count(*) FILTER (WHERE k.embedding IS NOT NULL AND vector_norm(k.embedding) = 0) AS zero,
       count(*) FILTER (WHERE k.embedding IS NOT NULL
                        AND vector_norm(k.embedding) IN ('NaN'::float8, 'Infinity'::float8)) AS not_finite,
       count(*) FILTER (WHERE r.text_hash IS NOT NULL) AS refused
FROM {table} k
LEFT JOIN refusal r ON (r.fingerprint, r.text_hash) = (%(fingerprint)s, k.text_hash)

-- name: check_counts
-- Differences between chunks and a generation's rows, for documents that are published at their present revision.
SELECT count(*) AS documents, coalesce(sum(abs(held - wanted)), 0) AS rows
FROM (SELECT p.document_id, (SELECT count(*) FROM chunk c WHERE c.document_id = p.document_id) AS wanted,
             (SELECT count(*) FROM {table} k WHERE k.document_id = p.document_id) AS held
      FROM publication p JOIN document d ON d.id = p.document_id
      WHERE p.generation_id = %(generation)s AND p.revision = d.revision) AS counts
WHERE held <> wanted

-- name: check_orphans
-- Rows whose document, place or text is not what the chunks say.
SELECT count(*) FROM {table} k
JOIN document d ON d.id = k.document_id
JOIN publication p ON p.document_id = d.id AND p.generation_id = %(generation)s AND p.revision = d.revision
LEFT JOIN chunk c ON (c.document_id, c.ordinal) = (k.document_id, k.ordinal)
WHERE c.text_hash IS DISTINCT FROM k.text_hash OR k.source <> d.source OR k.folder <> d.folder

-- name: progress
-- Done and total of the youngest live generation's stages, cheap enough to ask every second.
WITH wanted AS (SELECT id, fingerprint FROM generation WHERE state <> 'retired' ORDER BY id DESC LIMIT 1)
SELECT (SELECT count(*) FROM document WHERE chunked_from IS NOT NULL AND starts_with(chunked_from, content_hash || '/')),
       (SELECT count(*) FROM document WHERE content_hash IS NOT NULL),
       (SELECT count(*) FROM embedding e JOIN wanted w USING (fingerprint) WHERE e.orphaned_at IS NULL),
       (SELECT count(DISTINCT text_hash) FROM chunk),
       (SELECT count(*) FROM publication p JOIN wanted w ON w.id = p.generation_id),
       (SELECT count(*) FROM document WHERE content_hash IS NOT NULL)

-- name: made_by_older_versions
SELECT d.source FROM document d
JOIN unnest(%(media_types)s::text[], %(fingerprints)s::text[]) AS f(media_type, fingerprint) USING (media_type)
WHERE d.chunked_from IS NOT NULL
  AND NOT d.chunked_from LIKE '%%/' || f.fingerprint || '/' || %(chunker)s
ORDER BY d.source

-- name: document_warnings
-- What parsing warned of, pages that could not be read, and documents with text of which nothing can be found.
WITH present AS (
    SELECT d.id, d.source, p.body, p.content
    FROM document d JOIN parsed p ON p.content_hash = d.content_hash
    AND starts_with(d.chunked_from, p.content_hash || '/' || p.fingerprint || '/')
    WHERE d.excluded IS NULL
)
SELECT source, warning FROM present, jsonb_array_elements_text(body -> 'warnings') AS warning
UNION ALL
SELECT source, 'has text but no passages' FROM present
WHERE content ~ '\S' AND NOT EXISTS (SELECT FROM chunk c WHERE c.document_id = present.id)
ORDER BY 1, 2

-- name: describe_source
SELECT s.source, s.state, s.reason, d.title, d.locale, d.folder, d.media_type, d.size, d.modified_at, d.modified_from,
       d.commit_id, d.tags, d.properties, s.chunks, p.body ->> 'encoding' AS encoding,
       coalesce(p.body -> 'warnings', '[]') AS warnings,
       (SELECT jsonb_object_agg(origin, pages) FROM (
            SELECT page ->> 'origin' AS origin, jsonb_agg(page -> 'number' ORDER BY page -> 'number') AS pages
            FROM jsonb_array_elements(p.body -> 'pages') AS page GROUP BY 1) AS by_origin) AS pages,
       (SELECT coalesce(jsonb_agg(coalesce(l.resolved, l.target) ORDER BY l.position), '[]')
        FROM link l WHERE l.document_id = d.id) AS links,
       (SELECT coalesce(jsonb_agg(DISTINCT f.source), '[]')
        FROM link l JOIN document f ON f.id = l.document_id WHERE l.resolved = d.source) AS backlinks
FROM document_status s JOIN document d USING (source)
LEFT JOIN parsed p ON p.content_hash = d.content_hash
    AND starts_with(d.chunked_from, p.content_hash || '/' || p.fingerprint || '/')
WHERE s.source = %(source)s
