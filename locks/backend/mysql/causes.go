package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
)

// Error numbers of the server.
const (
	noSuchTable     = 1146
	unknownVariable = 1193
)

// number returns the server's number of an error, or 0 if it has none.
func number(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// A connectError is an error before anything of a request was sent.
type connectError struct{ error }

func (e *connectError) Unwrap() error { return e.error }

// A commitError is the error of a transaction that may have taken effect. In a Galera cluster
// it is also that of one that collided with another node's (1213), which did not.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

const (
	hintReplica = "locks need a server that accepts writes; name all hosts (mysql://a,b/database), or an address that follows the primary"
	hintAddress = "check host and port of the URL (or of ~/.my.cnf, MYSQL_HOST, MYSQL_TCP_PORT), and that the server listens there"
	hintTLS     = "check the CA of the server's certificate (cacert=FILE), our own certificate (cert=, key=), and the name in the server's (servername=); tls=false turns TLS off"
	hintLogin   = "check user and password (~/.my.cnf, MYSQL_PWD), and from which hosts the server lets this user in"
	hintLocked  = "somebody else kept the row or the table locked, as a dump without --single-transaction does, or the node of a Galera cluster has lost the others"
	hintFull    = "the server's disk is full"
	hintMany    = "the server accepts no more connections: see its max_connections and max_user_connections"
)

// fault returns what an error before the commit means, which certainly had no effect.
func (s *settings) fault(number uint16) causes.Fault {
	switch number {
	case 1213: // deadlock: somebody else was writing, so read again
		return causes.Fault{Kind: causes.Changed}
	case 1062: // duplicate key: somebody else has created the row
		return causes.Fault{Kind: causes.Changed}
	case 1205:
		return causes.Fault{Kind: causes.Unsent, Hint: hintLocked}
	case 1021, 1114, 3:
		return causes.Fault{Kind: causes.Unsent, Hint: hintFull}
	case 1040, 1203, 1226:
		return causes.Fault{Kind: causes.Throttled, Hint: hintMany}
	case 1290, 1792, 1836: // read_only; only to read; innodb_read_only
		return causes.Fault{Kind: causes.Unreachable, Hint: hintReplica}
	case 1047: // the node of a Galera cluster
		return causes.Fault{Kind: causes.Unreachable, Hint: "this node has lost the others, or has just been started; name several nodes (mysql://a,b,c/database)"}
	case 1045, 1130, 1698, 1820, 1862, 3118, 4151:
		return causes.Fault{Kind: causes.Denied, Hint: hintLogin}
	case 3159:
		return causes.Fault{Kind: causes.Denied, Hint: "the server requires TLS: omit tls=false, and ssl-mode=DISABLED"}
	case 1049:
		return causes.Fault{Kind: causes.Refused, Hint: "create it: CREATE DATABASE " + quote(s.database) + "; or name another"}
	case 1044, 1142, 1143:
		return causes.Fault{Kind: causes.Denied, Hint: "ask the owner of the database to run: " + s.setup()}
	case 1665: // see transactionSQL
		return causes.Fault{Kind: causes.Refused, Hint: "the server replicates statements, so that a replica's clock could end leases: SET GLOBAL binlog_format = 'ROW'"}
	case 1054, 1136, 1264, 1364, 1406:
		return causes.Fault{Kind: causes.Refused, Hint: "the table " + s.where() + " differs from the one that leaderrun creates: name another database, or rename the table when nothing runs under its locks"}
	case 1064, 1231:
		return causes.Fault{Kind: causes.Refused, Hint: "the server is none of MySQL 8 or MariaDB 10.5 and later"}
	}
	return causes.Fault{Kind: causes.Unsent}
}

// Fault implements [caslease.Store].
func (s *store) Fault(err error) causes.Fault {
	f := s.meaning(err)
	f.Text = cmp.Or(f.Text, text(err))
	return f
}

func (s *store) meaning(err error) causes.Fault {
	switch {
	case causes.Is[*commitError](err):
		return causes.Fault{}
	case number(err) != 0:
		return s.settings.fault(number(err))
	case errors.Is(err, errChanged):
		return causes.Fault{Kind: causes.Changed}
	case errors.Is(err, errEngine):
		return causes.Fault{Kind: causes.Refused, Hint: "without transactions a lock can be lost: ALTER TABLE " + s.settings.where() + " ENGINE = InnoDB"}
	case errors.Is(err, locks.ErrUsage):
		return causes.Fault{Kind: causes.Refused}
	case isNoKey(err):
		return causes.Fault{Kind: causes.Denied, Text: "the server does not speak TLS, and wants the password", Hint: hintKey}
	case errors.Is(err, errReadOnly):
		return causes.Fault{Kind: causes.Unreachable, Hint: hintReplica}
	case isTLS(err):
		return causes.Fault{Kind: causes.Unreachable, Hint: hintTLS}
	case causes.NoConnection(err), causes.Is[*net.DNSError](err) && !ended(err):
		return causes.Fault{Kind: causes.Unreachable, Hint: hintAddress}
	case causes.Is[*connectError](err), errors.Is(err, driver.ErrBadConn):
		return causes.Fault{Kind: causes.Unsent}
	}
	return causes.Fault{}
}

// ended reports whether our own timeout or cancellation ended the request.
func ended(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func isTLS(err error) bool {
	return errors.Is(err, mysql.ErrNoTLS) || causes.Is[*tls.CertificateVerificationError](err) || causes.Is[tls.AlertError](err)
}

// text returns the text of an error without what the driver adds.
func text(err error) string {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return locks.Printable(fmt.Sprintf("%s (error %d)", e.Message, e.Number))
	}
	switch {
	case ended(err):
		return "" // no answer in time
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn):
		return "the server closed the connection"
	}
	return locks.Printable(err.Error())
}

// setup returns the statements that create the table and grant a run the permissions that it
// needs.
func (s *settings) setup() string { return s.sql(tableSQL, nil) + "; " + s.grants() }

func (s *settings) grants() string {
	return "GRANT SELECT, INSERT, UPDATE, DELETE ON " + s.where() + " TO '" + strings.ReplaceAll(s.user, "'", "''") + "'@'%'"
}
