package zookeeper

import (
	"context"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Ways in which a term is lost, in addition to those of package queue.
const (
	errExpired    = locks.LostError("the session ended on the server")
	errNotRenewed = locks.LostError("the session was not renewed in time")
	errDeleted    = locks.LostError("the node was deleted")
	errReplaced   = locks.LostError("somebody else replaced the node")
	errOver       = locks.LostError("the term has ended")
)

// Fault implements [queue.Store].
func (l *lock) Fault(err error) queue.Fault {
	return queue.Fault{Explained: l.explain(err), Timeout: onlyTime(err), Transient: transient(err)}
}

// explain returns the class of an error, a text in one line, and a hint.
func (l *lock) explain(err error) *locks.Error {
	return causes.Explain(err, plain(err), allCauses(l.settings.tls != nil), onlyTime(err), l.o.ConnectTimeout)
}

// onlyTime reports whether an error says only that the context has ended.
func onlyTime(err error) bool {
	return err == context.DeadlineExceeded || err == context.Canceled //nolint:errorlint // a wrapped one says more
}

// plain returns the text of an error without what the library and package tls add, and
// without that the context has ended.
func plain(err error) string {
	text := err.Error()
	for _, s := range []string{" (" + context.DeadlineExceeded.Error() + ")", " (" + context.Canceled.Error() + ")", "zk: ", "tls: failed to verify certificate: x509: "} {
		text = strings.ReplaceAll(text, s, "")
	}
	text = strings.ReplaceAll(text, "not authenticated", "permission denied") // it may be another user that has the permission
	text, _, _ = strings.Cut(text, " (possibly because of ")
	return locks.Printable(text)
}

// files is what the variables that name the files of TLS begin with.
const files = "LEADERRUN_ZK_"

const (
	hintServing = "the server may have no quorum now, have too many connections from here (maxClientCnxns), or speak TLS on this port"
	hintPort    = "check the port; ZooKeeper serves clients on 2181 unless told otherwise"
	hintACL     = "the user (ZK_AUTH, or auth-file=FILE) needs the permissions create, read, write and delete there; see getAcl in zkCli"
)

// allCauses returns the causes of errors of a connection, with or without TLS; the first that
// matches an error counts. Most causes differ only in their text.
func allCauses(tls bool) (all []causes.Cause) {
	if tls { // Java since 17.0.19 also says handshake failure if there was no certificate
		refused := causes.Cause{Pattern: "remote error: tls: handshake failure", Kind: causes.Denied, Text: "TLS: the server wants a client certificate that it trusts", Hint: tlsfiles.HintCert(files)}
		all = append(tlsfiles.Causes(files), refused)
	}
	return slices.Concat(all, causes.Connecting("ZooKeeper"), []causes.Cause{
		{Pattern: "an HTTP server answered", Hint: hintPort},
		{Pattern: "a TLS server answered", Hint: tlsfiles.HintTLS(files)},
		{Pattern: "not ZooKeeper answered", Hint: hintPort},
		{Pattern: errNotServing.Error(), Hint: hintServing},
		{Pattern: errSilent.Error(), Hint: causes.HintSilent},
		{Pattern: "i/o timeout", Hint: causes.HintSilent, Text: errSilent.Error()},
		{Pattern: "permission denied", Kind: causes.Denied, Hint: hintACL},
		{Pattern: "client authentication failed", Kind: causes.Denied, Hint: hintACL},
		{Pattern: "invalid ACL specified", Kind: causes.Denied, Hint: hintACL},
	})
}
