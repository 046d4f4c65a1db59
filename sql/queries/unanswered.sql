-- Questions without a good answer, and stored evaluations.

-- name: record_unanswered
INSERT INTO unanswered (question, asked, locale, similarity)
VALUES (%(question)s, %(asked)s, %(locale)s, %(similarity)s)
ON CONFLICT (question) DO UPDATE
SET asked = excluded.asked, similarity = excluded.similarity, times = unanswered.times + 1, last_at = now()

-- name: list_unanswered
SELECT question, asked, locale, times, similarity, first_at, last_at, exported_at FROM unanswered
ORDER BY times DESC, last_at DESC, question LIMIT %(limit)s

-- name: find_unanswered
SELECT question, asked, locale, times, similarity, first_at, last_at, exported_at FROM unanswered
WHERE left(md5(question), 16) = %(id)s ORDER BY question LIMIT 1 FOR UPDATE

-- name: mark_exported
UPDATE unanswered SET exported_at = now() WHERE question = ANY(%(questions)s)

-- name: forget_unanswered
DELETE FROM unanswered WHERE last_at < now() - make_interval(days => %(days)s)

-- name: put_evaluation
INSERT INTO evaluation (golden, golden_hash, generation_id, model, mode, figures, questions)
VALUES (%(golden)s, %(golden_hash)s, %(generation)s, %(model)s, 'all', %(figures)s, %(questions)s) RETURNING id

-- name: last_evaluation
-- The youngest one of a golden set, whatever generation it was of.
SELECT golden, golden_hash, generation_id, model, questions, measured_at FROM evaluation
WHERE golden = %(golden)s AND (%(generation)s::integer IS NULL OR generation_id = %(generation)s)
ORDER BY measured_at DESC, id DESC LIMIT 1
