package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// table is the name of the table in its schema.
const table = "leaderrun_locks"

// Statements, in which @table stands for the table. They call only functions of the
// server, because it looks into pg_catalog first.
const (
	// prepareSQL goes before each statement, in its transaction.
	//
	// An acknowledged write has to be on the server's disk, and on those of its
	// synchronous standbys, if it has any (synchronous_standby_names). With "off" it is not
	// even on its own disk, with "local" and "remote_write" on no other: each could let a
	// lock be granted twice. "remote_apply" is more than we need, so it stays.
	//
	// The server itself ends the statement, just before we stop waiting for it.
	prepareSQL = `SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
		WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), set_config('statement_timeout', $1, true)`

	// columns has the columns of a cell. The time of its update is returned only by the
	// server that made it, and only until that server is restarted: the clock of another
	// server, or of the same machine after a boot, may differ.
	columns = `version, coalesce(first, version), encode(substr(state, 1, 65537), 'hex'), length(state),
		encode(substr(text, 1, 4097), 'hex'),
		CASE WHEN epoch = pg_postmaster_start_time() THEN (extract(epoch from updated)*1000000)::bigint END,
		` + micros + `, pg_is_in_recovery()`

	micros = `(extract(epoch from clock_timestamp())*1000000)::bigint`

	readSQL = `SELECT ` + columns + ` FROM (SELECT) AS one LEFT JOIN @table ON name = $1 AND part = $2`

	createSQL = `WITH w AS (INSERT INTO @table (name, part, state, text) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name, part) DO NOTHING RETURNING *)
		SELECT ` + columns + ` FROM w`

	updateSQL = `WITH w AS (UPDATE @table SET version = greatest(version + 1, ` + micros + `), first = coalesce(first, version),
				updated = clock_timestamp(), epoch = pg_postmaster_start_time(),
				state = coalesce($3, state), text = coalesce($4, text)
			WHERE name = $1 AND part = $2 AND version = $5 AND ($6::bigint = 0 OR epoch = pg_postmaster_start_time()
				AND clock_timestamp() - updated >= $6::bigint * interval '1 microsecond')
			RETURNING *)
		SELECT ` + columns + ` FROM w`

	deleteSQL = `WITH w AS (DELETE FROM @table WHERE name = $1 AND part = $2 AND version = $3 RETURNING *)
		SELECT ` + columns + ` FROM w`

	// noticeSQL and notifySQL notify listeners of what was written, in a transaction of their
	// own. All transactions that notify in any database of the server commit one after the
	// other: none of ours may wait for a standby meanwhile, or long for another's. If the row is
	// not as we wrote it, somebody else has written, and has notified.
	noticeSQL = `SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '500ms', true)`
	notifySQL = `SELECT pg_notify($5, $1) FROM (SELECT) AS one LEFT JOIN @table ON name = $1 AND part = $2
		WHERE ($3::bytea IS NULL OR state = $3) AND ($4::bytea IS NULL OR text = $4)`

	listSQL = `SELECT ` + columns + `, name FROM @table WHERE part = 0 AND name > $1 ORDER BY name LIMIT $2`

	// tableSQL creates the table. A version begins with the time in microseconds, and rises with
	// each write and with the time. So the version of a row that was deleted never comes again,
	// and rows can be copied into another table: there is no counter beside them, which logical
	// replication would not copy.
	tableSQL = `CREATE TABLE IF NOT EXISTS @table (name text COLLATE "C", part smallint, ` +
		`version bigint NOT NULL DEFAULT ` + micros + `, first bigint, state bytea, text bytea, ` +
		`updated timestamptz NOT NULL DEFAULT clock_timestamp(), ` +
		`epoch timestamptz NOT NULL DEFAULT pg_postmaster_start_time(), ` +
		`PRIMARY KEY (name, part)) WITH (fillfactor = 50)`
)

func quote(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }

// where returns the table's name for SQL.
func (s *settings) where() string { return quote(s.schema) + "." + table }

// sql returns a statement for our table.
func (s *settings) sql(statement string) string {
	return strings.ReplaceAll(statement, "@table", s.where())
}

// channel returns the name of the schema's channel for notifications.
func (s *settings) channel() string {
	sum := sha256.Sum256([]byte(s.schema))
	return "leaderrun_" + hex.EncodeToString(sum[:8])
}
