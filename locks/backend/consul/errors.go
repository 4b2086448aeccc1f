package consul

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Why a term ended, apart from the reasons in package queue.
const (
	errExpired    = locks.LostError("the session ended on the server")
	errNotRenewed = locks.LostError("the session was not renewed for as long as its ttl")
	errDeleted    = locks.LostError("the key was deleted")
	errUnlocked   = locks.LostError("the key is no longer locked by our session")
	errOver       = locks.LostError("that term is over")
)

// errForeign says that something other than Consul has answered.
var errForeign = errors.New("the answer is not Consul's")

// errTooLong says that an answer is longer than what was asked for can be.
var errTooLong = fmt.Errorf("%w: it is too long", errForeign)

const (
	hintACL  = "the token (CONSUL_HTTP_TOKEN or token-file=FILE) needs a policy with key_prefix write on the prefix and session write on the agent's node; docs/choosing-a-backend.md has it"
	hintPort = "check the port; a Consul agent serves HTTP on 8500 by default"
	hintNode = "the session belongs to the agent's node, which must be in the datacenter: give the address of an agent of that datacenter"
)

// Fault implements [queue.Store].
func (l *lock) Fault(err error) queue.Fault {
	return queue.Fault{Explained: l.explain(err), Timeout: onlyTime(err), Transient: transient(err)}
}

// explain returns the class of an error, a text of one line, and a hint.
func (l *lock) explain(err error) *locks.Error {
	return causes.Explain(err, plain(err), allCauses(l.client.settings.tls != nil), onlyTime(err), l.o.ConnectTimeout)
}

// onlyTime reports that all we know is that the time was up.
func onlyTime(err error) bool {
	if causes.Is[*url.Error](err) {
		err = errors.Unwrap(err)
	}
	return err == context.DeadlineExceeded || err == context.Canceled //nolint:errorlint // a wrapped one has more to say
}

// transient reports that another attempt may succeed. The status of a lasting refusal is the
// same as that of what the server cannot do at the moment.
func transient(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		final := slices.ContainsFunc(lasting(), func(c causes.Cause) bool { return strings.Contains(e.text, c.Pattern) })
		return !final && (e.code >= 500 || e.code == http.StatusTooManyRequests)
	}
	for _, other := range []error{locks.ErrLost, locks.ErrHeld, locks.ErrUsage, errForeign} {
		if errors.Is(err, other) {
			return false
		}
	}
	text := strings.ToLower(err.Error())
	// An alert may come from a proxy that is being replaced, unless it is about certificates.
	alert := strings.Contains(text, "remote error: tls: ") && !strings.Contains(text, "certificate")
	return !causes.Is[*net.DNSError](err) && (alert || !strings.Contains(text, "tls: ")) && !strings.Contains(text, "malformed http")
}

// plain is the text of an error without what libraries add.
func plain(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	text := strings.ReplaceAll(err.Error(), "tls: failed to verify certificate: x509: ", "")
	text, _, _ = strings.Cut(text, " (possibly because of ")
	return locks.Printable(text)
}

// lasting are the errors of the server that another attempt would not end.
func lasting() []causes.Cause {
	return []causes.Cause{
		{Pattern: "Invalid Session TTL", Hint: "the server's session_ttl_min is greater; use a longer --ttl"},
		{Pattern: "Missing node registration", Hint: hintNode},
		{Pattern: "cross datacenter lock", Hint: hintNode},
		{Pattern: "No path to datacenter", Hint: "check dc="},
		{Pattern: "invalid key name", Hint: "this version of Consul refuses some characters in keys: choose another prefix, or with compat= another name"},
	}
}

// allCauses lists the errors that we know, with or without TLS; the first that matches counts.
// Only their texts differ.
func allCauses(tls bool) (all []causes.Cause) {
	if tls {
		all = tlsfiles.Causes(files)
	}
	return slices.Concat(all, lasting(), causes.Connecting("a Consul agent"), []causes.Cause{
		{Pattern: "i/o timeout", Hint: causes.HintSilent},
		{Pattern: "Client sent an HTTP request to an HTTPS server", Hint: tlsfiles.HintTLS(files)},
		{Pattern: "malformed HTTP response", Text: "the server at this address is not Consul", Hint: hintPort},
		{Pattern: errForeign.Error(), Hint: hintPort},
		{Pattern: "Permission denied", Kind: causes.Denied, Hint: hintACL},
		{Pattern: "ACL not found", Kind: causes.Denied, Text: "the server does not know the token, or it has expired", Hint: hintACL},
		{Pattern: "HTTP status 403", Kind: causes.Denied, Hint: hintACL},
		{Pattern: "HTTP status 401", Kind: causes.Denied, Hint: "check CONSUL_HTTP_AUTH"},
		{Pattern: "HTTP status 4", Hint: hintPort},
		{Pattern: "HTTP status 3", Hint: hintPort},
		{Pattern: "too many concurrent connections", Hint: "the agent takes 200 connections from one address unless limits.http_max_conns_per_client says otherwise; each run needs four"},
		{Pattern: "No cluster leader", Hint: "the servers have no leader at the moment: see consul operator raft list-peers"},
	})
}
