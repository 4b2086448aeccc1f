package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
)

// SQLSTATE codes of the server.
const (
	undefinedTable  = "42P01"
	duplicateTable  = "42P07"
	duplicateObject = "42710"
	uniqueViolation = "23505"
	readOnly        = "25006"
)

// state returns the SQLSTATE of an error, or "" if it has none.
func state(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// A cause is a kind of error of the server.
type cause struct {
	state string // its SQLSTATE, or what its SQLSTATEs begin with
	kind  causes.Kind
	hint  string
}

const (
	hintStandby = "locks need a server that accepts writes; name all hosts (postgres://a,b/database), or an address that follows the primary"
	hintAddress = "check host and port of the URL (or PGHOST, PGPORT), and that the server listens there"
	hintTLS     = "check the CA of the server's certificate (sslrootcert=FILE or PGSSLROOTCERT), our own certificate (sslcert, sslkey), and what sslmode verifies"
	hintNoTLS   = "enable TLS on the server (ssl=on), or choose an sslmode that does not require it"
	hintLogin   = "check user and password (PGUSER, PGPASSWORD, ~/.pgpass), and pg_hba.conf on the server"
	hintSession = "check that the user may connect to the database, and what options=, PGOPTIONS and the service set"
	hintWarned  = "the server did not wait for its synchronous standby, which may lack the change"
)

// causes returns all causes in order: the first that matches an error counts. An ERROR
// that is not listed certainly had no effect; a FATAL or PANIC may have had one.
func (s *store) causes() []cause {
	return []cause{
		{"08", causes.Unknown, ""},
		{readOnly, causes.Unreachable, hintStandby},
		{"28", causes.Denied, hintLogin},
		{"3D000", causes.Refused, "check the name of the database, in the URL's path or in PGDATABASE"},
		{"3F000", causes.Misnamed, "create it: CREATE SCHEMA " + quote(s.pool.settings.schema) + "; or name another with schema="},
		{"40003", causes.Unknown, ""},
		{"40", causes.Changed, ""}, // somebody else was writing: read again
		{"42501", causes.Denied, "ask the owner of the database to run: " + s.pool.settings.setup()},
		{"42703", causes.Refused, s.hintTable()}, {"42804", causes.Refused, s.hintTable()}, {"42883", causes.Refused, s.hintTable()},
		{"428C9", causes.Refused, s.hintTable()},
		{"42", causes.Refused, ""},
		{"53100", causes.Unsent, "the server's disk is full"},
		{"53300", causes.Throttled, "the server accepts no more connections: see its max_connections, and CONNECTION LIMIT of the role and the database"},
		{"57014", causes.Unsent, "the server cancelled the statement: by statement_timeout, or because somebody else kept the row or the table locked, as VACUUM FULL does"},
		{"57P03", causes.Unsent, ""}, // the server is starting
		{"57P", causes.Unknown, ""},
		{"22", causes.Refused, ""}, {"0A", causes.Refused, ""},
	}
}

// Fault implements [caslease.Store].
func (s *store) Fault(err error) causes.Fault {
	f := s.meaning(err)
	f.Text = text(err)
	return f
}

func (s *store) meaning(err error) causes.Fault {
	connecting := causes.Is[*pgconn.ConnectError](err) // nothing of the request was sent
	e, server := errors.AsType[*pgconn.PgError](err)
	switch at := last(err); {
	case errors.Is(err, errChanged):
		return causes.Fault{Kind: causes.Changed}
	case errors.Is(err, locks.ErrUsage):
		return causes.Fault{Kind: causes.Refused}
	case server:
		return s.refused(e, connecting)
	case errors.Is(err, errStandby), errors.Is(err, errReadOnly):
		return causes.Fault{Kind: causes.Unreachable, Hint: hintStandby}
	case causes.Is[*warnedError](err):
		return causes.Fault{Hint: hintWarned}
	case isTLS(at) && strings.Contains(at.Error(), "server refused TLS connection"):
		return causes.Fault{Kind: causes.Unreachable, Hint: hintNoTLS}
	case isTLS(at):
		return causes.Fault{Kind: causes.Unreachable, Hint: hintTLS}
	case errors.Is(err, errUnread):
		return causes.Fault{Kind: causes.Unsent, Hint: "check the files of certificates, passwords and services that the settings name"}
	case unreachable(at) && !ended(at):
		return causes.Fault{Kind: causes.Unreachable, Hint: hintAddress}
	case connecting, pgconn.SafeToRetry(err), errors.Is(err, errClosed):
		return causes.Fault{Kind: causes.Unsent}
	}
	return causes.Fault{}
}

// hintTable names nothing that could hurt a lock that is held.
func (s *store) hintTable() string {
	return "the table " + s.pool.settings.where() + " differs from the one that leaderrun creates: name another schema with schema=, or rename the table when nothing runs under its locks"
}

// refused returns what an error of the server means.
func (s *store) refused(e *pgconn.PgError, connecting bool) causes.Fault {
	c := cause{kind: causes.Unsent}
	if at := slices.IndexFunc(s.causes(), func(c cause) bool { return strings.HasPrefix(e.Code, c.state) }); at >= 0 {
		c = s.causes()[at]
	}
	switch {
	case connecting && c.kind == causes.Unknown:
		c.kind = causes.Unsent
	case !connecting && e.SeverityUnlocalized != "ERROR":
		c.kind = causes.Unknown
	}
	if connecting && strings.HasPrefix(e.Code, "42") {
		c.hint = hintSession // no statement of ours was sent, so this is not about the table
	}
	return causes.Fault{Kind: c.kind, Hint: c.hint}
}

// several are errors that were joined.
type several interface {
	error
	Unwrap() []error
}

// last returns the last of several errors, of different hosts, or with TLS and without: what
// the first says about TLS may be why there was a second attempt.
func last(err error) error {
	for !errors.Is(err, errUnread) {
		all, ok := errors.AsType[several](err)
		if !ok {
			break
		}
		err = all.Unwrap()[len(all.Unwrap())-1]
	}
	return err
}

// unreachable reports whether no connection could be made.
func unreachable(err error) bool { return causes.NoConnection(err) || causes.Is[*net.DNSError](err) }

// ended reports whether our own timeout or cancellation ended the request.
func ended(err error) bool { return pgconn.Timeout(err) || errors.Is(err, context.Canceled) }

func isTLS(err error) bool {
	return causes.Is[*tls.CertificateVerificationError](err) || causes.Is[x509.UnknownAuthorityError](err) || causes.Is[x509.HostnameError](err) ||
		causes.Is[x509.CertificateInvalidError](err) || causes.Is[tls.AlertError](err) || strings.Contains(err.Error(), "server refused TLS connection")
}

// text returns the text of an error without what the driver adds.
func text(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return locks.Printable(e.Message + " (SQLSTATE " + e.Code + ")")
	}
	for _, own := range []error{errStandby, errReadOnly, errClosed} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	connecting := causes.Is[*pgconn.ConnectError](err)
	if err = last(err); ended(err) {
		return "" // no answer in time
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return locks.Printable(op.Error())
	}
	if connecting {
		return locks.Printable(strings.Join(strings.Fields(err.Error()), " "))
	}
	return locks.Printable(err.Error())
}

// setup returns the statements that create the table and grant a run the permissions that
// it needs.
func (s *settings) setup() string { return s.sql(tableSQL) + "; " + s.grants() }

func (s *settings) grants() string {
	role := " TO " + quote(s.user)
	return "GRANT USAGE ON SCHEMA " + quote(s.schema) + role + "; GRANT SELECT, INSERT, UPDATE, DELETE ON " + s.where() + role
}
