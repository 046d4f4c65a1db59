-- Nightly upkeep.

-- name: dead_rows
-- Rows that are there and rows that updates and deletions left behind, as far as the statistics know.
SELECT n_live_tup, n_dead_tup FROM pg_stat_user_tables WHERE relid = to_regclass(%(table)s)

-- name: vector_indexes
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE i.indrelid = to_regclass(%(table)s) AND a.amname = 'hnsw' AND i.indisvalid

-- name: reindex
REINDEX INDEX CONCURRENTLY {index}

-- name: vacuum
VACUUM (ANALYZE) {table}

-- name: database_size
SELECT pg_database_size(current_database())
