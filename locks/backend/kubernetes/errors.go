package kubernetes

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
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
		{Is: reason("AlreadyExists", "Conflict"), Kind: causes.Changed},
		{Is: about("namespaces"), Kind: causes.Misnamed, Hint: hintNamespace},
		{Is: because("NamespaceTerminating"), Kind: causes.Refused, Hint: "the namespace is being deleted: name another one"},
		{Is: status(http.StatusTooManyRequests), Kind: causes.Throttled, Text: "the API servers have too many requests"},
		{Is: overQuota, Kind: causes.Refused, Hint: "raise the quota of leases.coordination.k8s.io, or use another namespace"},
		{Is: before, Kind: causes.Unsent, Hint: hintRole},
		{Is: s.renewing, Kind: causes.Unsent, Hint: hintLogin},
		{Is: status(http.StatusUnauthorized), Kind: causes.Denied, Hint: hintLogin},
		{Is: status(http.StatusForbidden), Kind: causes.Denied, Hint: hintRole},
		{Is: alien, Kind: causes.Unsent, Text: "something that is not a Kubernetes API server answered", Hint: hintServer},
		{Is: is(errForeign), Hint: hintServer},
		{Is: status(http.StatusRequestTimeout)},
		{Is: refused, Kind: causes.Refused},
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

func status(code int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*statusError](err)
		return ok && e.Code == code
	}
}

func reason(words ...string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*statusError](err)
		return ok && slices.Contains(words, e.Reason)
	}
}

// about reports whether an object of a kind is missing.
func about(kind string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*statusError](err)
		return ok && e.Code == http.StatusNotFound && e.Details.Kind == kind
	}
}

// because reports whether a refusal has a cause.
func because(word string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*statusError](err)
		if !ok {
			return false
		}
		for _, c := range e.Details.Causes {
			if c.Reason == word {
				return true
			}
		}
		return false
	}
}

// renewing reports whether a server has refused credentials that a plugin can make anew.
func (s *store) renewing(err error) bool {
	return s.client != nil && s.client.plugin != nil && status(http.StatusUnauthorized)(err)
}

// before reports whether a server refuses what servers have allowed, as one does that starts.
func before(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.Before
}

func overQuota(err error) bool {
	return reason("Forbidden")(err) && strings.Contains(err.Error(), "exceeded quota")
}

func noTime(err error) bool {
	e, ok := errors.AsType[*pluginError](err)
	return ok && e.late
}

// alien reports whether an answer is not an API server's, which says Status in each refusal.
func alien(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.Kind == "" && e.Code/100 <= 4
}

func refused(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.Code/100 <= 4
}

// plain returns the text of an error without the address.
func plain(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return locks.Printable(err.Error())
}
