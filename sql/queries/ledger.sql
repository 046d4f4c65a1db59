-- What every stage of every run did.

-- name: put_ledger
INSERT INTO run_ledger (dagster_run, stage, generation_id, folders, figures, started_at, seconds)
VALUES (%(dagster_run)s, %(stage)s, %(generation)s, %(folders)s, %(figures)s,
        now() - make_interval(secs => %(seconds)s), %(seconds)s)

-- name: ledger_of_runs
SELECT stage, generation_id, figures FROM run_ledger WHERE dagster_run = ANY(%(runs)s) ORDER BY id

-- name: last_runs
SELECT dagster_run, min(started_at) AS started_at, sum(seconds) AS seconds, jsonb_object_agg(stage, figures) AS stages
FROM run_ledger GROUP BY dagster_run ORDER BY 2 DESC LIMIT %(limit)s

-- name: purge_ledger
DELETE FROM run_ledger WHERE started_at < now() - make_interval(days => %(days)s)
