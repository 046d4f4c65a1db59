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
-- Twice pgvector's default care in building: many near-equal passages otherwise hide each other (docs/retrieval.md).
CREATE INDEX IF NOT EXISTS {index} ON {table} USING hnsw ({vector} {operators}) WITH (m = 16, ef_construction = 128)
WHERE locale = {locale}

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
AND (%(sources)s::text[] IS NULL OR source = ANY(%(sources)s))
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

-- name: question_terms
-- The question's lexemes in every language that the generation has, with how many chunks hold them. Identifiers as typed
-- have no positions; `part` is a piece of a name in camel case. A language in which nothing is left has one empty row.
WITH corpus AS MATERIALIZED (
    SELECT search_language(locale) AS language, sum(chunks)::float8 AS chunks, sum(words)::float8 / sum(chunks) AS length
    FROM locale_statistic WHERE generation_id = %(generation)s GROUP BY 1 HAVING sum(chunks) > 0
)
SELECT c.language, q.lexeme, q.positions, coalesce(q.weights <@ '{{C}}', false) AS part, c.chunks, c.length,
       coalesce((SELECT sum(s.chunks) FROM term_statistic s
                 WHERE s.generation_id = %(generation)s AND s.language = c.language AND s.term = q.lexeme), 0)::integer AS held_by
FROM corpus c LEFT JOIN LATERAL unnest(search_vector(c.language, %(question)s)) AS q ON true

-- name: similar_terms
-- The nearest word of the index for each word that it does not have: typing mistakes. Only words that begin alike are
-- compared, which an index finds.
SELECT DISTINCT ON (w.language, w.lexeme) w.language, w.lexeme, s.term, sum(s.chunks)::integer AS held_by,
       similarity(s.term, w.lexeme) AS likeness
FROM unnest(%(languages)s::text[], %(lexemes)s::text[]) AS w(language, lexeme)
JOIN term_statistic s ON s.generation_id = %(generation)s AND s.language = w.language
     AND s.term >= left(w.lexeme, 2) AND s.term < left(w.lexeme, 2) || U&'\FFFF'
     AND length(s.term) BETWEEN length(w.lexeme) - 1 AND length(w.lexeme) + 1
     AND similarity(s.term, w.lexeme) >= %(least)s
GROUP BY w.language, w.lexeme, s.term HAVING sum(s.chunks) > 0
ORDER BY w.language, w.lexeme, likeness DESC, held_by DESC, s.term

-- name: text_leg
-- Rows that hold the driving (rare) terms, the most telling ones first, and their BM25 over all of the question's terms;
-- and the BM25 of rows that the vector leg found. Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009:
-- sum of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * words / average)); the idf comes with `weight`. A word in the title
-- (A) counts as two, in the section (B) as one and a half, a part of a name (C) as half a word. `shared` is the same sum over the best of the document's rows for each term.
WITH driving AS MATERIALIZED (
    SELECT d.query::tsquery AS query, d.weight, ARRAY(
        SELECT DISTINCT locale FROM locale_statistic
        WHERE generation_id = %(generation)s AND search_language(locale) = d.language) AS locales
    FROM unnest(%(driving_languages)s::text[], %(driving_queries)s::text[], %(driving_weights)s::float8[])
         AS d(language, query, weight)
), hit AS (
    SELECT k.id, sum(d.weight) AS reach
    FROM driving d CROSS JOIN LATERAL (
        SELECT id FROM {table} WHERE search @@ d.query AND locale = ANY(d.locales) AND {filters} LIMIT %(most)s) AS k
    GROUP BY k.id
), candidate AS MATERIALIZED (
    (SELECT id FROM hit ORDER BY reach DESC, id LIMIT %(prune)s) UNION SELECT unnest(%(also)s::bigint[])
), row AS MATERIALIZED (
    SELECT k.id, k.document_id, search_language(k.locale) AS language, k.words, k.search
    FROM candidate JOIN {table} k USING (id)
), term AS MATERIALIZED (
    SELECT * FROM unnest(%(languages)s::text[], %(lexemes)s::text[], %(weights)s::float8[], %(lengths)s::float8[])
                  AS t(language, lexeme, weight, length)
), word AS (
    SELECT r.id, r.document_id, r.language, r.words, unnest(r.search) AS held FROM row r
), held AS MATERIALIZED (
    SELECT id, document_id, language, words, (held).lexeme, (held).weights FROM word
    WHERE (held).lexeme = ANY(%(lexemes)s::text[])
), part AS MATERIALIZED (
    SELECT h.id, h.document_id, t.lexeme, t.weight,
           t.weight * f.tf * (%(k1)s + 1) / (f.tf + %(k1)s * (1 - %(b)s + %(b)s * h.words / t.length)) AS gain
    FROM held h JOIN term t ON (t.language, t.lexeme) = (h.language, h.lexeme)
    CROSS JOIN LATERAL (SELECT coalesce(
        cardinality(h.weights) + cardinality(array_positions(h.weights, 'A'))
        + 0.5::float8 * (cardinality(array_positions(h.weights, 'B')) - cardinality(array_positions(h.weights, 'C'))), 1) AS tf) AS f
), shared AS (
    SELECT document_id, sum(gain) AS gain, sum(weight) AS weight
    FROM (SELECT document_id, max(gain) AS gain, max(weight) AS weight FROM part GROUP BY document_id, lexeme) AS best
    GROUP BY document_id
)
SELECT r.id, coalesce(sum(p.gain), 0) AS own, coalesce(max(s.gain), 0) AS shared,
       coalesce(sum(p.weight), 0) AS held, coalesce(max(s.weight), 0) AS shared_held
FROM row r LEFT JOIN part p USING (id) LEFT JOIN shared s ON s.document_id = r.document_id
GROUP BY r.id

-- name: describe_candidates
-- What fusion needs to know of candidates. In an outer query, after the legs: an age in their order would keep every
-- index out.
SELECT id, document_id, source, ordinal, locale, search_language(locale) AS language,
       modified_at < now() - make_interval(days => %(age_days)s) AS aged,
       CASE WHEN id = ANY(%(unmeasured)s) THEN 1 - (embedding <=> %(question)s::vector) END AS similarity
FROM {table} WHERE id = ANY(%(ids)s)

-- name: quoted_phrases
-- Which candidates hold a quoted phrase word for word.
SELECT id FROM {table} WHERE id = ANY(%(ids)s)
AND search @@ phraseto_tsquery(search_configuration(search_language(locale)), search_words(search_language(locale), %(phrase)s))

-- name: passages
SELECT id, document_id, source, ordinal, folder, title, section, content, context, locale, line_start, line_end, page_start,
       page_end, modified_at
FROM {table} WHERE id = ANY(%(ids)s)

-- name: similarities
SELECT id, 1 - (embedding <=> %(question)s::vector) FROM {table} WHERE id = ANY(%(ids)s) AND embedding IS NOT NULL

-- name: neighbours
SELECT k.id, k.document_id, k.source, k.ordinal, k.folder, k.title, k.section, k.content, k.context, k.locale, k.line_start,
       k.line_end, k.page_start, k.page_end, k.modified_at
FROM unnest(%(documents)s::bigint[], %(ordinals)s::integer[]) AS w(document_id, ordinal)
JOIN {table} k ON k.document_id = w.document_id AND k.ordinal = w.ordinal
