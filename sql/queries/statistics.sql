-- Term statistics of generations: appended by triggers, summed by readers, folded in upkeep.

-- name: lock_folding
SELECT pg_try_advisory_xact_lock(1986097516, 3)

-- name: count_unfolded
SELECT count(*) FROM (SELECT FROM term_statistic WHERE NOT folded LIMIT %(limit)s) AS counted

-- name: fold_terms
-- One row in the place of many, for terms that have news. What other transactions append meanwhile is not seen here and
-- stays for the next time.
WITH news AS (
    SELECT DISTINCT generation_id, language, term FROM term_statistic WHERE NOT folded
), gone AS (
    DELETE FROM term_statistic s USING news n
    WHERE (s.generation_id, s.language, s.term) = (n.generation_id, n.language, n.term)
    RETURNING s.generation_id, s.language, s.term, s.chunks
)
INSERT INTO term_statistic (generation_id, language, term, chunks, folded)
SELECT generation_id, language, term, sum(chunks), true FROM gone
GROUP BY generation_id, language, term HAVING sum(chunks) <> 0

-- name: fold_locales
WITH gone AS (DELETE FROM locale_statistic WHERE generation_id IN (
    SELECT generation_id FROM locale_statistic WHERE NOT folded
) RETURNING *)
INSERT INTO locale_statistic (generation_id, locale, chunks, words, folded)
SELECT generation_id, locale, sum(chunks), sum(words), true FROM gone
GROUP BY generation_id, locale HAVING sum(chunks) <> 0 OR sum(words) <> 0

-- name: drop_dead_terms
DELETE FROM term_statistic s
WHERE NOT EXISTS (SELECT FROM generation g WHERE g.id = s.generation_id AND g.state <> 'retired')

-- name: drop_dead_locales
DELETE FROM locale_statistic s
WHERE NOT EXISTS (SELECT FROM generation g WHERE g.id = s.generation_id AND g.state <> 'retired')

-- name: locale_counts
SELECT locale, sum(chunks)::bigint AS chunks FROM locale_statistic WHERE generation_id = %(generation)s
GROUP BY locale HAVING sum(chunks) > 0 ORDER BY 2 DESC, 1

-- name: recount_terms
-- The truth, from the rows themselves: for tests and `doctor`.
SELECT search_language(k.locale) AS language, t.lexeme, count(*)
FROM {table} k, unnest(tsvector_to_array(k.search)) AS t(lexeme) GROUP BY 1, 2

-- name: held_terms
SELECT language, term, sum(chunks) FROM term_statistic WHERE generation_id = %(generation)s
GROUP BY language, term HAVING sum(chunks) <> 0

-- name: recount_locales
SELECT locale, count(*), sum(words) FROM {table} GROUP BY locale

-- name: held_locales
SELECT locale, sum(chunks), sum(words) FROM locale_statistic WHERE generation_id = %(generation)s
GROUP BY locale HAVING sum(chunks) <> 0 OR sum(words) <> 0
