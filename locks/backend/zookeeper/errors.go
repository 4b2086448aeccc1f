package zookeeper

import (
	"context"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
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
	e := l.explain(err)
	return queue.Fault{Class: e.Class, Text: e.Err.Error(), Hint: e.Hint, Timeout: onlyTime(err), Transient: transient(err)}
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
