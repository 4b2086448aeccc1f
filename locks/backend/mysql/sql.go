package mysql

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// table is the name of the table in its database.
const table = "leaderrun_locks"

// Parts of statements. Text is never quoted: values are hexadecimal, which no sql_mode and no
// character set changes.
const (
	// transactionSQL is everything that is sent for a request. It is sent at once, so that no
	// lock of a row waits for us, and nothing between us and the server sends a part of it to
	// another server. The server stops at the first error.
	//
	// It does not depend on the settings of the session, which the operator may have changed,
	// or a proxy for another client: see the package documentation. READ COMMITTED locks no
	// more than the row that is written, and a server that replicates statements refuses it
	// (binlog_format): each replica would write its own clock into the row.
	//
	// What the last statement reads proves that the commit had an effect: see transact.
	transactionSQL = sessionSQL + `SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE; @statements; COMMIT AND NO CHAIN NO RELEASE; @after`
	// readingSQL is the same for one SELECT, which is a transaction of its own. Waiters send
	// it often. Without the isolation it might return what is never committed. It fails in a
	// transaction that somebody else has left open.
	readingSQL = sessionSQL + `SET TRANSACTION ISOLATION LEVEL READ COMMITTED; @statements`
	sessionSQL = `SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES', innodb_lock_wait_timeout = @wait, lock_wait_timeout = @wait; `

	// readOnly is twice OFF or 0, unless the server is a replica or is being replaced. A user
	// who may write there all the same would not be refused. The second is on where the disk
	// is another server's, as of a reader of Aurora.
	readOnly = `CONCAT(@@global.read_only, @@global.innodb_read_only)`
	writable = readOnly + ` IN ('00', 'OFFOFF')`

	// epoch identifies the run of the server, and so its clock. Above its 24 lowest bits,
	// UUID_SHORT has the server's number and the second in which it was started. If any part
	// is NULL, so is the whole, which equals nothing.
	epoch = `CONCAT(@@hostname, ':', @@port, ':', UUID_SHORT() >> 24)`

	// now does not change within a statement, so it is no later than the lock of the row.
	now    = `UTC_TIMESTAMP(6)`
	micros = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ` + now + `)`

	// columns has the columns of package rows, after readOnly.
	columns = readOnly + `, version, first, state, LENGTH(state), text, ` +
		`CASE WHEN epoch = ` + epoch + ` THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01', updated) END, ` + micros

	key = `name = @name AND part = @part`

	// readSQL returns a row even if the table has none. After a write, its last column says
	// whether that has changed the row.
	readSQL = `SELECT ` + columns + `, @leaderrun_alone, ROW_COUNT() FROM (SELECT 1) AS one LEFT JOIN @table ON ` + key

	// A version is the time, or one more than the last, whichever is greater. So it is greater
	// than each version of a row that was deleted, and differs from those of writes that a
	// failover has lost: a holder of then must not renew the term of somebody else.
	createSQL = `INSERT INTO @table (name, part, version, first, state, text, updated, epoch) ` +
		`SELECT @name, @part, n, n, @state, @text, ` + now + `, ` + epoch +
		` FROM (SELECT ` + micros + ` AS n) AS one WHERE ` + writable

	updateSQL = `UPDATE @table SET version = GREATEST(version + 1, ` + micros + `), updated = ` + now + `, epoch = ` + epoch + `, ` +
		`state = COALESCE(@state, state), text = COALESCE(@text, text) ` +
		`WHERE ` + key + ` AND version = @version AND ` + writable + ` AND (@age = 0 OR epoch = ` + epoch +
		` AND TIMESTAMPDIFF(MICROSECOND, updated, ` + now + `) >= @age)`

	deleteSQL = `DELETE FROM @table WHERE ` + key + ` AND version = @version AND ` + writable

	listSQL = `SELECT ` + columns + `, name FROM @table WHERE part = 0 AND name > @name ORDER BY name LIMIT @limit`

	tableSQL = `CREATE TABLE IF NOT EXISTS @table (name varbinary(255), part tinyint, version bigint NOT NULL, ` +
		`first bigint NOT NULL, state blob, text blob, updated datetime(6), epoch varbinary(255), ` +
		`PRIMARY KEY (name, part)) ENGINE = InnoDB`
)

func quote(identifier string) string { return "`" + strings.ReplaceAll(identifier, "`", "``") + "`" }

// where returns the table's name for SQL.
func (s *settings) where() string { return quote(s.database) + "." + table }

// values are what stands for the words that begin with @ in a statement.
type values map[string]any

// sql returns a statement for our table. Values are numbers, or []byte, of which nil is NULL.
func (s *settings) sql(statement string, v values) string {
	pairs := []string{"@table", s.where()}
	for word, value := range v {
		text := fmt.Sprint(value)
		if b, ok := value.([]byte); ok {
			if text = "X'" + hex.EncodeToString(b) + "'"; b == nil {
				text = "NULL"
			}
		}
		pairs = append(pairs, "@"+word, text)
	}
	return strings.NewReplacer(pairs...).Replace(statement)
}

// transaction returns all that is sent for some statements, and one after them; without that,
// for one SELECT. The server ends one that waits for others before we stop waiting for it, so
// that we hear why, but not in its first second.
func (s *settings) transaction(statements, after string, left time.Duration) string {
	wait := strconv.Itoa(int(max((left-100*time.Millisecond)/time.Second, 1)))
	text := transactionSQL
	if after == "" {
		text = readingSQL
	}
	return strings.NewReplacer("@wait", wait, "@statements", statements, "@after", after).Replace(text)
}
