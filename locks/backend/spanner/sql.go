package spanner

import (
	"strings"

	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// Statements of GoogleSQL, in which @table stands for the table. PostgreSQL's dialect
// differs in what [dialect.sql] replaces.
const (
	// dialectSQL is the same in both.
	dialectSQL = `SELECT option_value FROM information_schema.database_options WHERE option_name = 'database_dialect'`

	// columns has the columns of a cell. What anybody can have written is bounded.
	columns = `name, created, updated, SUBSTR(state, 1, 65537), SUBSTR(record, 1, 4097), CURRENT_TIMESTAMP`

	readSQL = `SELECT ` + columns + ` FROM @table WHERE name = @p1 AND part = @p2`
	listSQL = `SELECT ` + columns + ` FROM @table WHERE part = 0 AND name > @p1 ORDER BY name LIMIT @p2`

	createSQL = `INSERT INTO @table (name, part, created, updated, state, record)
		VALUES (@p1, @p2, PENDING_COMMIT_TIMESTAMP(), PENDING_COMMIT_TIMESTAMP(), @p3, @p4)`
	updateSQL = `UPDATE @table SET updated = PENDING_COMMIT_TIMESTAMP(), state = COALESCE(@p3, state), record = COALESCE(@p4, record)
		WHERE name = @p1 AND part = @p2 AND updated = @p5 AND CURRENT_TIMESTAMP >= @p6`
	// A policy can delete rows, whether a lock is held or not.
	policySQL = `SELECT row_deletion_policy_expression FROM information_schema.tables WHERE table_name = @p1 AND row_deletion_policy_expression IS NOT NULL`

	deleteSQL = `DELETE FROM @table WHERE name = @p1 AND part = @p2 AND updated = @p3`
)

// A dialect is one of the two kinds of SQL. A database has one of them forever.
type dialect struct {
	tableSQL string // creates the default table
	quote    string // goes around names
}

var (
	googleSQL  = &dialect{known.SpannerGoogleSQL, "`"}
	postgreSQL = &dialect{known.SpannerPostgreSQL, `"`}
)

// toPostgreSQL makes "@p1" "$1". The dialect calls its own functions with a prefix.
var toPostgreSQL = strings.NewReplacer("@p", "$", "PENDING_", "SPANNER.PENDING_")

// sql returns a statement for a table.
func (d *dialect) sql(statement, table string) string {
	if d == postgreSQL {
		statement = toPostgreSQL.Replace(statement)
	}
	return strings.ReplaceAll(statement, "@table", d.quoted(table))
}

// create returns the statement that creates a table.
func (d *dialect) create(table string) string {
	if table == known.SpannerTable {
		return d.tableSQL
	}
	return strings.Replace(d.tableSQL, known.SpannerTable, d.quoted(table), 1)
}

// quoted returns a table's name in quotes, because it may be a word of SQL.
func (d *dialect) quoted(table string) string {
	return d.quote + strings.ReplaceAll(table, ".", d.quote+"."+d.quote) + d.quote
}
