package zookeeper

import (
	"context"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// How a term ended, if not as package queue says.
const (
	errExpired    = locks.LostError("the session ended on the server")
	errNotRenewed = locks.LostError("the session was not renewed for as long as it lasts")
	errDeleted    = locks.LostError("the node was deleted")
	errReplaced   = locks.LostError("the node was replaced by someone else's")
	errOver       = locks.LostError("that term is over")
)

// Fault implements [queue.Store].
func (l *lock) Fault(err error) queue.Fault {
	e := l.explain(err)
	return queue.Fault{Class: e.Class, Text: e.Err.Error(), Hint: e.Hint, Timeout: onlyTime(err), Transient: transient(err)}
}

// explain finds the class of an error, a text that fits one line, and a hint.
func (l *lock) explain(err error) *locks.Error {
	return causes.Explain(err, plain(err), known(l.settings.tls != nil), onlyTime(err), l.o.ConnectTimeout)
}

// onlyTime reports that nothing is known but that the time was up.
func onlyTime(err error) bool {
	return err == context.DeadlineExceeded || err == context.Canceled //nolint:errorlint // a wrapped one says more
}

// plain is the text of an error without what the library and package tls put
// around it, and without that the time was up.
func plain(err error) string {
	text := err.Error()
	for _, s := range []string{" (" + context.DeadlineExceeded.Error() + ")", " (" + context.Canceled.Error() + ")", "zk: ", "tls: failed to verify certificate: x509: "} {
		text = strings.ReplaceAll(text, s, "")
	}
	text = strings.ReplaceAll(text, "not authenticated", "permission denied") // whoever we are
	text, _, _ = strings.Cut(text, " (possibly because of ")
	return locks.Printable(text)
}
