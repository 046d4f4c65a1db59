-- Sessions of the assistant and their turns. The running turn of a session is one row, by an index: whoever wants to
-- begin another one locks the session first and looks.

-- name: chat_new_session
INSERT INTO chat_session (id, title) VALUES (%(session)s, %(title)s) ON CONFLICT (id) DO NOTHING

-- name: chat_lock_session
SELECT documents FROM chat_session WHERE id = %(session)s FOR UPDATE

-- name: chat_end_abandoned
-- Turns whose process has not been heard of: it was killed, or the machine was.
UPDATE chat_turn SET state = 'failed', problem = 'interrupted', ended_at = now()
WHERE state = 'running' AND touched_at < now() - make_interval(secs => %(seconds)s)
  AND (%(session)s::uuid IS NULL OR session_id = %(session)s)

-- name: chat_turns_so_far
SELECT count(*), count(*) FILTER (WHERE state = 'running' AND id <> %(turn)s) FROM chat_turn
WHERE session_id = %(session)s

-- name: chat_begin_turn
-- Again with the same id after a lost connection: the turn is there already.
INSERT INTO chat_turn (id, session_id, ordinal, question)
SELECT %(turn)s, %(session)s, coalesce(max(ordinal), 0) + 1, %(question)s FROM chat_turn WHERE session_id = %(session)s
ON CONFLICT (id) DO NOTHING

-- name: chat_touch_session
UPDATE chat_session SET updated_at = now() WHERE id = %(session)s

-- name: chat_history
-- The last turns that were answered to the end, oldest first.
SELECT question, query, locale, style, answer, answered, messages FROM (
    SELECT * FROM chat_turn WHERE session_id = %(session)s AND id <> %(turn)s AND state = 'complete'
    ORDER BY ordinal DESC LIMIT %(limit)s
) AS last ORDER BY ordinal

-- name: chat_said_by_user
-- Everything that the person wrote in a session.
SELECT question FROM chat_turn WHERE session_id = %(session)s ORDER BY ordinal DESC LIMIT %(limit)s

-- name: chat_touch_turn
UPDATE chat_turn SET touched_at = now(), answer = %(answer)s, query = %(query)s, rewritten = %(rewritten)s,
       locale = %(locale)s, style = %(style)s, sources = %(sources)s
WHERE id = %(turn)s AND state = 'running' RETURNING cancel_asked

-- name: chat_end_turn
-- Only a running turn ends: one that was given up for dead stays as it was shown since. An answer made of passages is
-- not stored.
UPDATE chat_turn SET state = %(state)s, answered = %(answered)s, problem = %(problem)s, locale = %(locale)s,
       query = %(query)s, rewritten = %(rewritten)s, style = %(style)s,
       answer = CASE WHEN %(style)s = 'passages' THEN '' ELSE %(answer)s END, removed_citations = %(removed)s,
       sources = %(sources)s, messages = %(messages)s, model = %(model)s, input_tokens = %(input_tokens)s,
       output_tokens = %(output_tokens)s, cached_tokens = %(cached_tokens)s, cost_usd = %(cost_usd)s, ended_at = now(),
       touched_at = now()
WHERE id = %(turn)s AND state = 'running'

-- name: chat_add_usage
-- What was asked of the model after the turn had ended.
UPDATE chat_turn SET input_tokens = input_tokens + %(input_tokens)s, output_tokens = output_tokens + %(output_tokens)s,
       cached_tokens = cached_tokens + %(cached_tokens)s, cost_usd = nullif(coalesce(cost_usd, 0) + %(cost_usd)s, 0)
WHERE id = %(turn)s

-- name: chat_ask_to_cancel
UPDATE chat_turn SET cancel_asked = true WHERE session_id = %(session)s AND state = 'running'

-- name: chat_sessions
SELECT s.id, s.title, s.created_at, s.updated_at, count(t.id) AS turns,
       coalesce(bool_or(t.state = 'complete' AND NOT t.answered), false) AS unanswered
FROM chat_session s LEFT JOIN chat_turn t ON t.session_id = s.id
GROUP BY s.id ORDER BY s.updated_at DESC, s.id LIMIT %(limit)s OFFSET %(offset)s

-- name: chat_session
SELECT id, title, documents FROM chat_session WHERE id = %(session)s

-- name: chat_turns
SELECT id, question, query, rewritten, locale, style, answer, state, answered, problem, removed_citations, sources,
       model, input_tokens, output_tokens, cached_tokens, cost_usd, created_at
FROM chat_turn WHERE session_id = %(session)s ORDER BY ordinal

-- name: chat_rename
UPDATE chat_session SET title = %(title)s WHERE id = %(session)s

-- name: chat_limit_documents
UPDATE chat_session SET documents = %(documents)s WHERE id = %(session)s

-- name: chat_delete_session
DELETE FROM chat_session WHERE id = %(session)s

-- name: chat_passages
-- Passages that answers have shown, where they can still be read: same document, same text, wherever in it it stands now.
SELECT k.source, k.ordinal, k.title, k.section, k.content, k.locale, k.line_start, k.line_end, k.page_start, k.page_end,
       h.hash
FROM knowledge k
CROSS JOIN LATERAL (SELECT encode(sha256(convert_to(k.content, 'UTF8')), 'hex') AS hash) AS h
WHERE k.source = ANY(%(sources)s) AND h.hash = ANY(%(hashes)s)
  AND EXISTS (SELECT FROM document d WHERE d.source = k.source AND d.excluded IS NULL)
ORDER BY k.source, k.ordinal

-- name: chat_forget_sessions
DELETE FROM chat_session WHERE updated_at < now() - make_interval(days => %(days)s)

-- name: chat_memories
SELECT id, kind, content, created_at FROM chat_memory ORDER BY seen_at DESC, id DESC LIMIT %(limit)s

-- name: chat_remember
-- Said again: seen again. What two sessions have said belongs to neither: the deletion of one takes only its own.
INSERT INTO chat_memory (session_id, kind, content, folded) VALUES (%(session)s, %(kind)s, %(content)s, %(folded)s)
ON CONFLICT (folded) DO UPDATE SET seen_at = now(), content = excluded.content,
    session_id = CASE WHEN chat_memory.session_id = excluded.session_id THEN excluded.session_id END

-- name: chat_trim_memories
DELETE FROM chat_memory WHERE id IN (SELECT id FROM chat_memory ORDER BY seen_at DESC, id DESC OFFSET %(most)s)

-- name: chat_delete_memory
DELETE FROM chat_memory WHERE id = %(id)s

-- name: chat_forget_memories
DELETE FROM chat_memory WHERE seen_at < now() - make_interval(days => %(days)s)

-- name: chat_put_lead
INSERT INTO chat_lead (session_id, turn_id, name, contact, interest, summary)
VALUES (%(session)s, %(turn)s, %(name)s, %(contact)s, %(interest)s, %(summary)s) ON CONFLICT (turn_id) DO NOTHING

-- name: chat_leads
SELECT id, session_id, name, contact, interest, summary, created_at FROM chat_lead
ORDER BY created_at DESC, id DESC LIMIT %(limit)s

-- name: chat_delete_lead
DELETE FROM chat_lead WHERE id = %(id)s

-- name: chat_forget_leads
DELETE FROM chat_lead WHERE created_at < now() - make_interval(days => %(days)s)
