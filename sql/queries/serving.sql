-- What HTTP and MCP ask besides search. Only documents that readers may see have a text here: published in the active
-- generation, and not left out by a rule since.

-- name: serving_documents
-- A page of documents in the order of their names, after the one called `after`.
SELECT s.source, s.folder, d.title, s.state, s.reason, d.locale, s.media_type, d.tags, s.modified_at, s.chunks
FROM document_status s JOIN document d USING (source)
WHERE (%(after)s::text IS NULL OR s.source > %(after)s)
  AND (%(folders)s::text[] IS NULL OR s.folder = ANY(%(folders)s) OR starts_with(s.source, %(prefix)s))
  AND (%(state)s::text IS NULL OR s.state = %(state)s)
ORDER BY s.source LIMIT %(limit)s

-- name: serving_readable
-- The same for readers of the index: whatever a newer version of a document is waiting for, its published one serves.
SELECT d.source, d.folder, d.title, d.locale, d.media_type, d.tags, d.modified_at, p.chunks
FROM document d
JOIN publication p ON p.document_id = d.id
JOIN generation g ON g.id = p.generation_id AND g.state = 'active'
WHERE d.excluded IS NULL AND p.chunks > 0
  AND (%(after)s::text IS NULL OR d.source > %(after)s)
  AND (%(folders)s::text[] IS NULL OR d.folder = ANY(%(folders)s) OR starts_with(d.source, %(prefix)s))
ORDER BY d.source LIMIT %(limit)s

-- name: serving_text
-- One document's text from `offset` on, and its headings. The text is the one that its passages were made from. Where a
-- newer version could not be read, that one may be gone: then the passages themselves serve, and their sections.
SELECT d.source, d.folder, d.title, d.locale, d.media_type, d.tags, d.properties, d.modified_at,
       char_length(t.content) AS characters, substr(t.content, %(offset)s + 1, %(limit)s) AS content,
       CASE WHEN r.content IS NULL THEN o.sections ELSE o.headings END AS outline
FROM document d
JOIN publication p ON p.document_id = d.id
JOIN generation g ON g.id = p.generation_id AND g.state = 'active'
LEFT JOIN parsed r ON r.content_hash = split_part(d.chunked_from, '/', 1)
    AND starts_with(d.chunked_from, r.content_hash || '/' || r.fingerprint || '/')
CROSS JOIN LATERAL (
    SELECT coalesce(r.content, (SELECT string_agg(c.content, E'\n\n' ORDER BY c.ordinal) FROM chunk c
                                WHERE c.document_id = d.id), '') AS content
) AS t
CROSS JOIN LATERAL (
    SELECT (SELECT jsonb_agg(jsonb_build_object(
                'level', b.block -> 'level', 'line', b.block -> 'line_start', 'offset', b.block -> 'start',
                'title', substr(r.content, (b.block ->> 'start')::integer + 1,
                                least((b.block ->> 'end')::integer - (b.block ->> 'start')::integer, 500))) ORDER BY b.place)
            FROM (SELECT block, place FROM jsonb_array_elements(r.body -> 'blocks') WITH ORDINALITY AS e(block, place)
                  WHERE block ->> 'kind' = 'heading' ORDER BY place LIMIT %(headings)s) AS b) AS headings,
           (SELECT jsonb_agg(jsonb_build_object('level', 1, 'line', s.line, 'offset', NULL, 'title', s.section)
                             ORDER BY s.line)
            FROM (SELECT section, min(line_start) AS line FROM chunk WHERE document_id = d.id AND section <> ''
                  GROUP BY section ORDER BY 2 LIMIT %(headings)s) AS s) AS sections
) AS o
WHERE d.source = %(source)s AND d.excluded IS NULL

-- name: serving_key_passages
-- The passages that say most of what a document says: the first one, and those nearest to the mean of its vectors.
WITH passage AS (
    SELECT ordinal, section, content, line_start, line_end, page_start, page_end, embedding FROM knowledge k
    WHERE source = %(source)s
      AND EXISTS (SELECT FROM document d WHERE d.source = k.source AND d.excluded IS NULL)
), middle AS (
    SELECT avg(embedding) AS embedding FROM passage
), chosen AS (
    SELECT p.*, row_number() OVER (ORDER BY p.ordinal) = 1 AS opening, p.embedding <=> m.embedding AS distance
    FROM passage p CROSS JOIN middle m
)
SELECT ordinal, section, content, line_start, line_end, page_start, page_end
FROM chosen ORDER BY opening DESC, distance NULLS LAST, ordinal LIMIT %(limit)s

-- name: serving_unanswered
-- The id stands for the folded question, which is the key and not for everybody's eyes.
SELECT left(md5(question), 16) AS id, asked AS question, locale, times, first_at, last_at, exported_at AS drafted_at
FROM unanswered
ORDER BY times DESC, last_at DESC, question LIMIT %(limit)s OFFSET %(offset)s

-- name: serving_index
-- Whether there is an index that serves, and what it still lacks.
SELECT g.id, g.model,
       (SELECT count(*) FROM publication p WHERE p.generation_id = g.id AND p.chunks > 0) AS documents,
       (SELECT count(*) FROM document d LEFT JOIN publication p ON p.document_id = d.id AND p.generation_id = g.id
        WHERE d.content_hash IS NOT NULL AND p.revision IS DISTINCT FROM d.revision
          AND NOT EXISTS (SELECT FROM quarantine q WHERE q.document_id = d.id)) AS waiting,
       (SELECT count(DISTINCT document_id) FROM quarantine) AS quarantined
FROM generation g WHERE g.state = 'active'
