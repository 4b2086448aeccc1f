package spannerinfo

// Table is the name of the table, unless the URL has another.
const Table = "leaderrun_locks"

// GoogleSQL and PostgreSQL are the statements that create the table, in the two dialects of
// databases.
const (
	GoogleSQL = `CREATE TABLE ` + Table + ` (name STRING(256) NOT NULL, part INT64 NOT NULL, ` +
		`created TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp=true), ` +
		`updated TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp=true), ` +
		`state STRING(MAX), record BYTES(MAX)) PRIMARY KEY (name, part)`
	PostgreSQL = `CREATE TABLE ` + Table + ` (name varchar(256) NOT NULL, part bigint NOT NULL, ` +
		`created spanner.commit_timestamp NOT NULL, updated spanner.commit_timestamp NOT NULL, ` +
		`state varchar, record bytea, PRIMARY KEY (name, part))`
)
