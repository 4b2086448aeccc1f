package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// table is the name of the table in its schema.
const table = "leaderrun_locks"

// Statements, in which @table is the table. They call no function of anybody else: the
// server looks into pg_catalog first.
const (
	// guardSQL goes before each statement, in its transaction.
	//
	// What is acknowledged has to be on the server's disk, and on those of the standbys
	// that it waits for, if it does (synchronous_standby_names). With "off" it is not
	// even on its own, with "local" and "remote_write" on no other: each would let a
	// lock be granted twice. "remote_apply" is more than we need, and so stays.
	//
	// The server itself ends a statement that we do not wait for any longer.
	guardSQL = `SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
		WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), set_config('statement_timeout', $1, true)`

	// columns are those of a cell as an answer shows it. When it was updated is told
	// only by the server that has done so, and since it was started: the clock of
	// another one, or of the same machine after a boot, may be a different one.
	columns = `version, coalesce(first, version), encode(substr(state, 1, 65537), 'hex'), length(state),
		encode(substr(text, 1, 4097), 'hex'),
		CASE WHEN epoch = pg_postmaster_start_time() THEN (extract(epoch from updated)*1000000)::bigint END,
		(extract(epoch from clock_timestamp())*1000000)::bigint, pg_is_in_recovery()`

	readSQL = `SELECT ` + columns + ` FROM (SELECT) AS one LEFT JOIN @table ON name = $1 AND part = $2`

	createSQL = `WITH w AS (INSERT INTO @table (name, part, state, text) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name, part) DO NOTHING RETURNING *)
		SELECT ` + columns + tellSQL

	updateSQL = `WITH w AS (UPDATE @table SET version = DEFAULT, first = coalesce(first, version),
				updated = clock_timestamp(), epoch = pg_postmaster_start_time(),
				state = coalesce($3, state), text = coalesce($4, text)
			WHERE name = $1 AND part = $2 AND version = $6 AND ($7::bigint = 0 OR epoch = pg_postmaster_start_time()
				AND clock_timestamp() - updated >= $7::bigint * interval '1 microsecond')
			RETURNING *)
		SELECT ` + columns + tellSQL

	// tellSQL tells those who listen, unless the channel is "".
	tellSQL = `, CASE WHEN $5 <> '' THEN pg_notify($5, $1)::text END FROM w`

	deleteSQL = `WITH w AS (DELETE FROM @table WHERE name = $1 AND part = $2 AND version = $3 RETURNING *)
		SELECT ` + columns + `, pg_notify($4, $1)::text FROM w`

	listSQL = `SELECT ` + columns + `, name FROM @table WHERE part = 0 AND name > $1 ORDER BY name LIMIT $2`

	// tableSQL makes the table. Its versions are counted for all rows together, and each
	// write takes the next: so that of a row which was deleted never comes again. They
	// begin with the time in microseconds, for the sake of a table that was dropped.
	tableSQL = `CREATE TABLE IF NOT EXISTS @table (name text COLLATE "C", part smallint, ` +
		`version bigint NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH %d), first bigint, state bytea, text bytea, ` +
		`updated timestamptz NOT NULL DEFAULT clock_timestamp(), ` +
		`epoch timestamptz NOT NULL DEFAULT pg_postmaster_start_time(), ` +
		`PRIMARY KEY (name, part)) WITH (fillfactor = 50)`
)

func quote(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }

// where is the table, as SQL has it.
func (s *settings) where() string { return quote(s.schema) + "." + table }

// sql is a statement on our table.
func (s *settings) sql(statement string) string {
	return strings.ReplaceAll(statement, "@table", s.where())
}

func (s *settings) tableSQL() string { return fmt.Sprintf(s.sql(tableSQL), time.Now().UnixMicro()) }

// channel is where changes to the locks of the schema are told.
func (s *settings) channel() string {
	sum := sha256.Sum256([]byte(s.schema))
	return "leaderrun_" + hex.EncodeToString(sum[:8])
}
