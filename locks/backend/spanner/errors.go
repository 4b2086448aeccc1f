package spanner

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"cloud.google.com/go/auth"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
)

// A credentialsError says that there are no usable credentials.
type credentialsError struct{ error }

// A searchError says that looking for credentials has taken too long.
type searchError struct{ error }

// A tokenError says that no access token was to be had.
type tokenError struct{ error }

func (e *searchError) Error() string { return "looking for credentials: " + e.error.Error() }

func (e *credentialsError) Unwrap() error { return e.error }
func (e *searchError) Unwrap() error      { return e.error }
func (e *tokenError) Unwrap() error       { return e.error }

const (
	hintLogin = "run gcloud auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
	hintRole  = "the account needs the role roles/spanner.databaseUser on the database"
	hintHost  = "check the network, and SPANNER_EMULATOR_HOST or endpoint= if one is set"
)

// known returns all causes in order: the first that matches an error counts.
func (s *store) known() []causes.Cause {
	return []causes.Cause{
		{Is: causes.Is[*credentialsError], Kind: causes.Denied, Hint: hintLogin},
		{Is: causes.Is[*searchError], Kind: causes.Unsent, Text: "no credentials were found in time: the machine's metadata server does not answer", Hint: hintLogin},
		{Is: tokenRefused, Kind: causes.Denied, Text: "the credentials were not accepted, or have expired", Hint: hintLogin},
		{Is: causes.Is[*tokenError], Kind: causes.Unsent},
		{Is: func(err error) bool { return errors.Is(err, errChanged) }, Kind: causes.Changed},
		{Is: like(codes.Unavailable, "first record does not look like a TLS handshake"), Kind: causes.Unreachable, Hint: "the server does not speak TLS; write http:// if it is an emulator"},
		{Is: like(codes.Unavailable, "x509: certificate signed by unknown authority"), Kind: causes.Unreachable, Hint: "name a file with the CA in SSL_CERT_FILE"},
		{Is: unreachable, Kind: causes.Unreachable, Hint: hintHost},
		{Is: aborted, Kind: causes.Changed}, // others were writing until the time was up: read again
		{Is: like(codes.AlreadyExists, ""), Kind: causes.Changed},
		{Is: noSession, Kind: causes.Unsent},
		{Is: like(codes.NotFound, "Database not found"), Kind: causes.Refused, Hint: "check its name, or ask its owner to create it; leaderrun does not"},
		{Is: like(codes.NotFound, "Instance not found"), Kind: causes.Refused, Hint: "check the names of the project and the instance"},
		{Is: noTable, Kind: causes.Refused, Hint: "ask the owner of the database to run: " + s.tableSQL()},
		{Is: like(codes.InvalidArgument, ""), Kind: causes.Refused, Hint: "the table may differ from what leaderrun needs: " + s.tableSQL()},
		{Is: like(codes.PermissionDenied, ""), Kind: causes.Denied, Hint: hintRole},
		{Is: like(codes.Unauthenticated, ""), Kind: causes.Denied, Hint: hintLogin},
		{Is: like(codes.ResourceExhausted, ""), Kind: causes.Throttled, Hint: "the instance is overloaded, or a quota of the project is used up"},
		{Is: like(codes.FailedPrecondition, ""), Kind: causes.Refused},
		{Is: like(codes.OutOfRange, ""), Kind: causes.Refused},
		{Is: like(codes.Unimplemented, ""), Kind: causes.Refused, Hint: "this is not Spanner, or an emulator that lacks what leaderrun needs"},
		{Is: like(codes.NotFound, ""), Kind: causes.Refused},
	}
}

// Fault implements [caslease.Store].
func (s *store) Fault(err error) causes.Fault {
	f := causes.Of(err, plain(err), s.known(), causes.IsContext(err))
	if unreachable(err) {
		f.Hint = proxy.GRPC(f.Hint, s.client.settings.service())
	}
	return f
}

// tableSQL returns the statement that creates the table, in the dialect of the database. If
// the dialect is not known, it is GoogleSQL.
func (s *store) tableSQL() string {
	d := googleSQL
	if known := s.client.known(); known != nil {
		d = known.dialect
	}
	return d.create(s.client.settings.table)
}

// local replaces gRPC's errors for the end of a context by the context's own.
func local(err error) error {
	switch code := status.Code(err); {
	case code == codes.DeadlineExceeded && !unreachable(err):
		return context.DeadlineExceeded
	case code == codes.Canceled:
		return context.Canceled
	}
	return err
}

// message returns the text of a gRPC status, or of another error.
func message(err error) string {
	if s, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return s.GRPCStatus().Message()
	}
	return err.Error()
}

// like returns whether an error has a code, and a text in its message.
func like(code codes.Code, text string) func(error) bool {
	return func(err error) bool { return status.Code(err) == code && strings.Contains(message(err), text) }
}

func noSession(err error) bool { return like(codes.NotFound, "Session not found")(err) }

// aborted reports whether the service has aborted a transaction because of another. The
// emulator also forgets one, if there is a later one in the same session.
func aborted(err error) bool {
	return like(codes.Aborted, "")(err) || like(codes.NotFound, "Transaction not found")(err) ||
		status.Code(err) == codes.FailedPrecondition && forgotten.MatchString(message(err))
}

var forgotten = regexp.MustCompile(`invalidated by a later transaction|Invalid transaction ID|Cannot read or query using a transaction after`)

// noTable reports whether the table does not exist. The dialects report it differently.
func noTable(err error) bool {
	return like(codes.InvalidArgument, "Table not found")(err) || missingRelation.MatchString(message(err))
}

var missingRelation = regexp.MustCompile(`relation ".*" does not exist`)

// unreachable reports whether there is no connection, so that nothing was sent.
func unreachable(err error) bool {
	code := status.Code(err)
	text := message(err)
	return (code == codes.Unavailable || code == codes.DeadlineExceeded) && noConnection.MatchString(text) && !strings.Contains(text, "error reading from server")
}

var noConnection = regexp.MustCompile(`connection error: desc = "(?:transport: )?(.*)"|name resolver error: (.*)|no children to pick from`)

// tokenRefused reports whether the server that issues access tokens refused our
// credentials. Some of its errors have only a text.
func tokenRefused(err error) bool {
	e, ok := errors.AsType[*auth.Error](err)
	return ok && e.Response != nil && e.Response.StatusCode != http.StatusTooManyRequests && e.Response.StatusCode < 500 ||
		causes.Is[*tokenError](err) && strings.HasPrefix(err.Error(), "credentials: status code 40")
}

// plain returns the text of an error in one line, without gRPC's wrapping and without
// the place in our SQL.
func plain(err error) string {
	text := message(err)
	if m := noConnection.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(strings.ReplaceAll(cmp.Or(m[1], m[2], text), `\"`, `"`), "Error while dialing: ")
	}
	text, _, _ = strings.Cut(text, " [at ")
	return locks.Printable(text)
}
