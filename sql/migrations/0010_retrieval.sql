-- What search needs besides the rows: text search per language, term statistics, evaluations, unanswered questions.

-- Accents are folded before the stemmer, on documents and questions alike: "configuracion" finds "configuración". The
-- fold takes the tilde off the ñ too, because half the keyboards that ask have none. Words with digits are not stemmed.
CREATE TEXT SEARCH CONFIGURATION vaultline_es (COPY = spanish);
ALTER TEXT SEARCH CONFIGURATION vaultline_es
    ALTER MAPPING FOR asciiword, word, asciihword, hword, hword_asciipart, hword_part WITH unaccent, spanish_stem;
ALTER TEXT SEARCH CONFIGURATION vaultline_es ALTER MAPPING FOR numword, numhword, hword_numpart WITH unaccent, simple;

CREATE TEXT SEARCH CONFIGURATION vaultline_en (COPY = english);
ALTER TEXT SEARCH CONFIGURATION vaultline_en
    ALTER MAPPING FOR asciiword, word, asciihword, hword, hword_asciipart, hword_part WITH unaccent, english_stem;
ALTER TEXT SEARCH CONFIGURATION vaultline_en ALTER MAPPING FOR numword, numhword, hword_numpart WITH unaccent, simple;

CREATE TEXT SEARCH CONFIGURATION vaultline_simple (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION vaultline_simple
    ALTER MAPPING FOR asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part, hword_numpart
    WITH unaccent, simple;

-- Locale of a document -> language of its words. "es-MX" is Spanish; what has no stemmer here is "simple".
CREATE FUNCTION search_language(locale text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN locale ~* '^es([-_]|$)' THEN 'es' WHEN locale ~* '^en([-_]|$)' THEN 'en' ELSE 'simple' END;

CREATE FUNCTION search_configuration(language text) RETURNS regconfig
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE language WHEN 'es' THEN 'vaultline_es'::regconfig WHEN 'en' THEN 'vaultline_en'::regconfig
            ELSE 'vaultline_simple'::regconfig END;

-- Codes and identifiers as typed: KubePodCrashLooping, snake_case, v1.2.3, ERR_X-12, C++. One spelling for all ways to
-- write one: lower case, no accents, no separators except a dot between digits, so that v1.2.3 is not v12.3.
CREATE FUNCTION search_codes(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN coalesce((
    SELECT array_agg(DISTINCT code) FILTER (WHERE length(code) BETWEEN 2 AND 64)
    FROM regexp_matches(content, '([[:alnum:]]+(?:[-_./:@#+\\]{1,3}[[:alnum:]]+)+|[[:alpha:]][[:alnum:]]?[+#]{1,2}(?![[:alnum:]])|[[:alnum:]]*[[:lower:]][[:upper:]][[:alnum:]]*)', 'g') AS found,
         LATERAL regexp_replace(
             regexp_replace(lower(unaccent('unaccent'::regdictionary, found[1])), '([0-9])[-_./:@#+\\]+(?=[0-9])', '\1.', 'g'),
             '[-_/:@\\]|[#+](?=[[:alnum:]])|\.(?![0-9])|(?<![0-9])\.', '', 'g') AS code
), '{}');

-- Parts of names written in camel case, as words: they count less than words that stand alone.
CREATE FUNCTION search_parts(content text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN content ~ '[[:lower:]][[:upper:]]' THEN (
    SELECT string_agg(regexp_replace(regexp_replace(found[1], '([[:lower:][:digit:]])([[:upper:]])', '\1 \2', 'g'),
                                     '([[:upper:]])([[:upper:]][[:lower:]])', '\1 \2', 'g'), ' ')
    FROM regexp_matches(content, '([[:alnum:]]*[[:lower:]][[:upper:]][[:alnum:]]*)', 'g') AS found) ELSE '' END;

-- Text as words and blanks, so that the parser of Postgres sees no paths, hosts or signed numbers in prose. Accents go
-- first. In Spanish two things that the stemmer leaves alone: it needs the accent of "configuración" to know it from the
-- family of "configurar", and it does not take the plural off words of four letters (año, años).
CREATE FUNCTION search_words(language text, content text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE language
    WHEN 'es' THEN
        regexp_replace(regexp_replace(regexp_replace(
            lower(unaccent('unaccent'::regdictionary, content)), '[^[:alnum:]]+', ' ', 'g'),
            '\m(\w\w[aeo])s\M', '\1', 'g'), '\m(\w{4,}[ai])cion(es)?\M', '\1r', 'g')
    ELSE regexp_replace(content, '[^[:alnum:]]+', ' ', 'g') END;

-- Lexemes of a text: its words with their positions; parts of names, labelled C; codes, without positions.
CREATE FUNCTION search_vector(language text, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN to_tsvector(search_configuration(language), search_words(language, content))
    || setweight(to_tsvector(search_configuration(language), search_parts(content)), 'C')
    || array_to_tsvector(search_codes(content));

-- Lexemes of a row of a generation: the title labelled A, the section B, the body D.
CREATE FUNCTION search_row(locale text, title text, section text, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN setweight(search_vector(search_language(locale), title), 'A')
    || setweight(search_vector(search_language(locale), section), 'B')
    || search_vector(search_language(locale), content);

CREATE FUNCTION count_search_words(search tsvector) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT coalesce(sum(cardinality(positions)), 0)::integer FROM unnest(search));

-- In how many rows of a generation a lexeme occurs, for the inverse document frequency of BM25. Rows are only ever
-- appended, +n and -n, so that two writers never wait for each other; a reader sums them, and folding, in upkeep, puts
-- one row in the place of many. At any time the sums are exactly what a recount of the generation's table gives.
CREATE TABLE term_statistic (
    generation_id   integer NOT NULL,
    language        text NOT NULL,
    term            text COLLATE "C" NOT NULL,
    chunks          integer NOT NULL,
    folded          boolean NOT NULL DEFAULT false
);
CREATE INDEX term_statistic_term ON term_statistic (generation_id, language, term) INCLUDE (chunks);
CREATE INDEX term_statistic_unfolded ON term_statistic (generation_id) WHERE NOT folded;

-- The same for rows and their words, by locale: the size of each language, and which indexes are worth their while.
CREATE TABLE locale_statistic (
    generation_id   integer NOT NULL,
    locale          text COLLATE "C" NOT NULL,
    chunks          bigint NOT NULL,
    words           bigint NOT NULL,
    folded          boolean NOT NULL DEFAULT false
);
CREATE INDEX locale_statistic_generation ON locale_statistic (generation_id);

CREATE FUNCTION fill_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.search := search_row(NEW.locale, NEW.title, NEW.section, NEW.content);
    NEW.words := count_search_words(NEW.search);
    RETURN NEW;
END
$$;

CREATE FUNCTION count_search_inserts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO term_statistic (generation_id, language, term, chunks)
    SELECT TG_ARGV[0]::integer, search_language(r.locale), t.lexeme, count(*)
    FROM new_rows r, unnest(tsvector_to_array(r.search)) AS t(lexeme) GROUP BY 2, 3;
    INSERT INTO locale_statistic (generation_id, locale, chunks, words)
    SELECT TG_ARGV[0]::integer, locale, count(*), sum(words) FROM new_rows GROUP BY locale;
    RETURN NULL;
END
$$;

CREATE FUNCTION count_search_deletes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO term_statistic (generation_id, language, term, chunks)
    SELECT TG_ARGV[0]::integer, search_language(r.locale), t.lexeme, -count(*)
    FROM old_rows r, unnest(tsvector_to_array(r.search)) AS t(lexeme) GROUP BY 2, 3;
    INSERT INTO locale_statistic (generation_id, locale, chunks, words)
    SELECT TG_ARGV[0]::integer, locale, -count(*), -sum(words) FROM old_rows GROUP BY locale;
    RETURN NULL;
END
$$;

-- A move touches many rows and none of their words: only rows whose lexemes can have changed are counted again.
CREATE FUNCTION count_search_updates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH changed AS (
        SELECT o.locale AS old_locale, o.search AS old_search, o.words AS old_words,
               n.locale AS new_locale, n.search AS new_search, n.words AS new_words
        FROM old_rows o JOIN new_rows n USING (id)
        WHERE (o.locale, o.title, o.section, o.text_hash) IS DISTINCT FROM (n.locale, n.title, n.section, n.text_hash)
    ), terms AS (
        INSERT INTO term_statistic (generation_id, language, term, chunks)
        SELECT TG_ARGV[0]::integer, language, lexeme, sum(step)
        FROM (SELECT search_language(new_locale) AS language, unnest(tsvector_to_array(new_search)) AS lexeme, 1 AS step
              FROM changed
              UNION ALL
              SELECT search_language(old_locale), unnest(tsvector_to_array(old_search)), -1 FROM changed) AS steps
        GROUP BY language, lexeme HAVING sum(step) <> 0
    )
    INSERT INTO locale_statistic (generation_id, locale, chunks, words)
    SELECT TG_ARGV[0]::integer, locale, sum(step), sum(words)
    FROM (SELECT new_locale AS locale, 1 AS step, new_words AS words FROM changed
          UNION ALL SELECT old_locale, -1, -old_words FROM changed) AS steps
    GROUP BY locale HAVING sum(step) <> 0 OR sum(words) <> 0;
    RETURN NULL;
END
$$;

-- A row that disappears with its whole table, or by TRUNCATE, is not counted by the triggers: folding drops what
-- belongs to no live generation.

-- What `vaultline eval` measured, so that the next run can be compared with the last one.
CREATE TABLE evaluation (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    golden          text NOT NULL,    -- name of the golden set
    golden_hash     text NOT NULL,    -- of its questions and answers
    generation_id   integer NOT NULL,
    model           text NOT NULL,
    mode            text NOT NULL,
    figures         jsonb NOT NULL,
    questions       jsonb NOT NULL,   -- per question: the figures that a paired comparison needs
    measured_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX evaluation_golden ON evaluation (golden, measured_at);

-- Questions that found nothing good enough. No names, addresses or accounts: the question, when, and how often.
CREATE TABLE unanswered (
    question        text PRIMARY KEY, -- folded: lower case, single blanks, contacts and secrets masked
    asked           text NOT NULL,    -- as it was last typed, masked
    locale          text NOT NULL,
    times           integer NOT NULL DEFAULT 1,
    similarity      real,
    first_at        timestamptz NOT NULL DEFAULT now(),
    last_at         timestamptz NOT NULL DEFAULT now(),
    exported_at     timestamptz
);
