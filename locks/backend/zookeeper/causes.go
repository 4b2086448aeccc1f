package zookeeper

import (
	"slices"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

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
		refused := causes.Cause{Pattern: "remote error: tls: handshake failure", Denied: true, Text: "TLS: the server wants a client certificate that it trusts", Hint: tlsfiles.HintCert(files)}
		all = append(tlsfiles.Causes(files), refused)
	}
	return slices.Concat(all, causes.Connecting("ZooKeeper"), []causes.Cause{
		{Pattern: "an HTTP server answered", Hint: hintPort},
		{Pattern: "a TLS server answered", Hint: tlsfiles.HintTLS(files)},
		{Pattern: "not ZooKeeper answered", Hint: hintPort},
		{Pattern: errNotServing.Error(), Hint: hintServing},
		{Pattern: errSilent.Error(), Hint: causes.HintSilent},
		{Pattern: "i/o timeout", Hint: causes.HintSilent, Text: errSilent.Error()},
		{Pattern: "permission denied", Denied: true, Hint: hintACL},
		{Pattern: "client authentication failed", Denied: true, Hint: hintACL},
		{Pattern: "invalid ACL specified", Denied: true, Hint: hintACL},
	})
}
