-- A fence for PostgreSQL: a writer shows the fencing token of its lock, and is refused if
-- somebody with a higher token has already written. So a holder that was frozen, and wakes
-- up when another has the lock, can do no harm.
--
-- To use it, call fence() first in each transaction that writes:
--
--   BEGIN;
--   SELECT fence('report', 1042);            -- LEADERRUN_LOCK_NAME, LEADERRUN_TOKEN
--   UPDATE reports SET total = 17 WHERE day = '2026-11-21';
--   COMMIT;
--
-- Tokens rise for one lock in one backend. When a lock moves to another backend, delete
-- its row. A client that is frozen between BEGIN and COMMIT keeps the row locked: set
-- idle_in_transaction_session_timeout, so that this does not last forever.

CREATE TABLE fences (
	lock  text   PRIMARY KEY,
	token bigint NOT NULL
);

-- The row is locked until the transaction ends: a client with a higher token waits for the
-- one at work, and a client that comes later with a lower token is refused.
CREATE FUNCTION fence(lock_name text, lock_token bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO fences AS f (lock, token) VALUES (lock_name, lock_token)
	ON CONFLICT (lock) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'token % of lock "%" is out of date', lock_token, lock_name;
	END IF;
END
$$;
