package kubernetes

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
)

var (
	// errChanged says that a Lease is not as it was read.
	errChanged = errors.New("the Lease has changed")
	// errForeign says that something other than an API server has answered.
	errForeign = errors.New("the answer is not a Kubernetes API server's")
	// errElected says that a term is not leaderrun's, which has no way to end it.
	errElected = errors.New("a leader election of client-go holds the Lease")
)

const (
	hintLogin     = "kubectl get lease with the same context says more; a service account's token ends with its pod, and another's when it expires"
	hintRole      = "docs/kubernetes.md has the Role that a run needs; kubectl auth can-i --list shows what there is"
	hintServer    = "check the server in the kubeconfig, and the network"
	hintElected   = "stop the program that was elected, or wait until its lease ends"
	hintNamespace = "make it with kubectl create namespace, or name another one: k8s://CONTEXT/NAMESPACE"
	hintCA        = "check certificate-authority-data in the kubeconfig"
)

// known returns all causes in order: the first that matches an error counts.
func (s *store) known() []causes.Cause {
	return []causes.Cause{
		{Is: is(errChanged), Kind: causes.Changed},
		{Is: is(errElected), Kind: causes.Refused, Hint: hintElected},
		{Is: noTime, Kind: causes.Unsent, Text: "the plugin of the kubeconfig has not printed credentials yet", Hint: hintLogin},
		{Is: causes.Is[*pluginError], Kind: causes.Denied, Hint: hintLogin},
		{Is: isMissing, Kind: causes.Changed},
		{Is: status(func(e *statusError) bool { return e.Reason == "AlreadyExists" || e.Reason == "Conflict" }), Kind: causes.Changed},
		{Is: status(func(e *statusError) bool { return e.Code == http.StatusNotFound && e.Details.Kind == "namespaces" }), Kind: causes.Misnamed, Hint: hintNamespace},
		{Is: status((*statusError).terminating), Kind: causes.Refused, Hint: "the namespace is being deleted: name another one"},
		{Is: status(func(e *statusError) bool {
			return e.Reason == "Forbidden" && strings.Contains(e.Message, "exceeded quota")
		}), Kind: causes.Refused, Hint: "raise the quota of leases.coordination.k8s.io, or use another namespace"},
		{Is: code(http.StatusTooManyRequests), Kind: causes.Throttled, Text: "the API servers have too many requests"},
		{Is: status(func(e *statusError) bool { return e.Soon }), Kind: causes.Unsent, Hint: hintRole},
		{Is: code(http.StatusUnauthorized), Kind: causes.Denied, Hint: hintLogin},
		{Is: code(http.StatusForbidden), Kind: causes.Denied, Hint: hintRole},
		{Is: status(func(e *statusError) bool { return e.Kind == "" && e.Code/100 <= 4 }), Kind: causes.Unsent, Text: "something that is not a Kubernetes API server answered", Hint: hintServer},
		{Is: is(errForeign), Hint: hintServer},
		{Is: code(http.StatusRequestTimeout)},
		{Is: status(func(e *statusError) bool { return e.Code/100 <= 4 }), Kind: causes.Refused},
		{Is: causes.Is[x509.UnknownAuthorityError], Hint: hintCA},
		{Is: causes.NoConnection, Kind: causes.Unreachable, Hint: hintServer},
		{Is: causes.Is[*net.DNSError], Hint: hintServer},
	}
}

// Fault implements [caslease.Store].
func (s *store) Fault(err error) causes.Fault {
	f := causes.Of(err, plain(err), s.known(), causes.IsContext(err))
	if causes.Is[*url.Error](err) && s.client != nil { // there was no answer
		f.Hint = proxy.Hint(f.Hint, s.client.base.String())
	}
	return f
}

func is(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}

// status reports whether an error is an answer like that.
func status(like func(*statusError) bool) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*statusError](err)
		return ok && like(e)
	}
}

func code(n int) func(error) bool { return status(func(e *statusError) bool { return e.Code == n }) }

// isMissing reports whether there is no such Lease.
func isMissing(err error) bool {
	return status(func(e *statusError) bool { return e.Code == http.StatusNotFound && e.Details.Kind == "leases" })(err)
}

func (e *statusError) terminating() bool {
	return len(e.Details.Causes) > 0 && e.Details.Causes[0].Reason == "NamespaceTerminating"
}

func noTime(err error) bool {
	e, ok := errors.AsType[*pluginError](err)
	return ok && e.late
}

// plain returns the text of an error without the address.
func plain(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return locks.Printable(err.Error())
}
