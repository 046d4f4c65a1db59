-- What search asks. `{table}` is the generation's knowledge_gN; parameters that are NULL filter nothing.

-- name: index_names
-- Only finished ones: an index whose build was interrupted is not valid and does not answer.
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass(%(table)s) AND i.indisvalid

-- name: create_search_index
CREATE INDEX IF NOT EXISTS {index} ON {table} USING gin (search)

-- name: create_locale_index
CREATE INDEX IF NOT EXISTS {index} ON {table} (locale)

-- name: create_vector_index
CREATE INDEX IF NOT EXISTS {index} ON {table} USING hnsw ({vector} {operators}) WHERE locale = {locale}

-- name: mark_indexed
UPDATE generation SET indexed = true WHERE id = %(generation)s

-- name: begin_search
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: tune_search
-- Custom plans: the partial index of a locale is only seen by a plan that knows the locale. Iterative scans: a filter must
-- not leave fewer rows than asked for. The just-in-time compiler costs more than any of these statements.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
       set_config('hnsw.ef_search', %(ef_search)s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true), set_config('hnsw.scan_mem_multiplier', '4', true)

-- name: filters
(%(locale)s::text IS NULL OR locale = %(locale)s)
AND (%(folders)s::text[] IS NULL OR folder = ANY(%(folders)s) OR starts_with(source, %(prefix)s))
AND (%(source)s::text IS NULL OR source = %(source)s)
AND (%(tags)s::text[] IS NULL OR NOT EXISTS (
    SELECT FROM unnest(%(tags)s::text[]) AS wanted
    WHERE NOT EXISTS (SELECT FROM unnest(tags) AS held WHERE lower(held) = wanted OR starts_with(lower(held), wanted || '/'))))
AND (%(properties)s::jsonb IS NULL OR properties @> %(properties)s)
AND (%(since)s::timestamptz IS NULL OR modified_at >= %(since)s)
AND (%(until)s::timestamptz IS NULL OR modified_at < %(until)s)

-- name: vector_indexed
-- One locale with an HNSW index.
(SELECT id, {vector} <=> {question} AS distance FROM {table}
 WHERE locale = {locale} AND embedding IS NOT NULL AND {filters}
 ORDER BY {vector} <=> {question} LIMIT %(limit)s)

-- name: vector_exact
-- Rows that no index covers, or that a filter leaves: all of them are compared. The sum keeps the planner from an index.
(SELECT id, ({vector} <=> {question}) + 0 AS distance FROM {table}
 WHERE {covered} AND embedding IS NOT NULL AND {filters}
 ORDER BY ({vector} <=> {question}) + 0 LIMIT %(limit)s)

-- name: vector_leg
SELECT id, 1 - distance AS similarity FROM ({branches}) AS nearest ORDER BY distance, id LIMIT %(limit)s

-- name: probe_filters
-- How many rows a filter leaves, counted no further than it matters.
SELECT count(*) FROM (SELECT FROM {table} WHERE {filters} LIMIT %(most)s) AS counted

-- name: passages
SELECT id, document_id, source, ordinal, folder, title, section, content, context, locale, line_start, line_end, page_start, page_end,
       modified_at, modified_at < now() - make_interval(days => %(age_days)s) AS aged,
       CASE WHEN %(question)s::vector IS NULL THEN NULL ELSE 1 - (embedding <=> %(question)s::vector) END AS similarity
FROM {table} WHERE id = ANY(%(ids)s)
