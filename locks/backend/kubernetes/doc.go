// Package kubernetes keeps locks in Leases of Kubernetes (coordination.k8s.io/v1).
//
// It is a store for package caslease, which has the rest of the lock. A cell is a Lease, and its
// state is in an annotation. Each change has the condition that the Lease still has the
// resourceVersion that was read, and is a merge patch, so labels, annotations and fields of
// others stay.
//
// The Leases of a lock, in the namespace of the URL:
//
//	NAME                the lock. kubectl get lease shows the holder. The annotations begin
//	                    with leaderrun.github.io/ (state, record, wrote).
//	NAME.leaderrun-ask  made when somebody sends the holder a request.
//
// A lock's name that cannot be the name of a Lease, because it has a "/" or a capital letter, or
// is that of a slot, becomes a readable part and a hash: jobs/nightly is
// jobs-nightly.leaderrun-HASH. The annotation leaderrun.github.io/lock has the lock's name.
//
// # Leader election of client-go
//
// The spec of a Lease is what client-go's leader election would write. So a lock excludes an
// elector, such as a controller, that uses the Lease of the same name, and the elector excludes
// the lock:
//
//   - While an elector holds the Lease, the lock is held, by the elector's identity, until the
//     Lease has not changed for its leaseDurationSeconds. No command of leaderrun ends that
//     term: break and forget are refused.
//   - While a lock is held, electors see a holder that renews. From client-go v0.27 on they wait
//     for the leaseDurationSeconds of the Lease. Older ones wait for their own LeaseDuration, so
//     the ttl must not be longer than that.
//   - An elector's process may still be at work when its lease has ended: client-go asks it to
//     stop, and does not kill it. Fencing tokens are the remedy, or --takeover strict.
//
// A Lease that names a holder without acquireTime and leaseTransitions is the heartbeat of a
// kubelet or an API server, and one with a strategy is a coordinated election. Both are
// refused, and so are the namespaces kube-system and kube-node-lease.
//
// # URL
//
//	k8s://[context][/namespace][?parameters]
//
// The context is one of the kubeconfig. Without one, it is the current context, or in a pod
// without a kubeconfig, the pod's cluster and service account. Without a namespace, it is that of
// the context, or of the pod, or default. A context whose name does not fit before the slash, such
// as an ARN, is the parameter context=. leaderrun-backends(7) has the parameters.
//
// Settings that the URL omits come from the variables of kubectl: KUBECONFIG, or else
// ~/.kube/config; in a pod, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and POD_NAMESPACE.
//
// Tokens and certificates in files are read again, so a service account's token may rotate. A
// plugin (exec:) runs in the background, before the credentials that it printed end, with an empty
// standard input. The old auth-provider entries are refused, and so is a kubeconfig that others can
// write, because it may name a plugin.
//
// # Liveness
//
// A Lease says nothing by the servers' clock: renewTime is the holder's, and is never compared
// with a clock. So a waiter takes the lock over when the Lease has kept its resourceVersion for a
// whole lease, by the waiter's boot clock. A holder that died before the waiter came costs the
// waiter a whole lease.
//
// A renewal is one request. Electors compare renewTime in whole seconds, so each renewal sets it at
// least a second later than the one before: with a ttl below 5s, it runs ahead of the clock.
//
// A holder and its waiters watch the two Leases of the lock, over a connection each. A watch does
// not report renewals. Without the right to watch, a waiter reads every 2 s on average.
//
// # Fencing token
//
// The token is a counter in the state. It is never below the time of the Lease's creation, in
// microseconds, plus the Lease's resourceVersion. So tokens go on rising across the terms of
// electors, after a cluster was built anew, and after a Lease was deleted, unless the server's clock
// was set back to before its creation: then Forget refuses. They can be repeated after the cluster's
// etcd was restored from a backup: stop all runs before that.
//
// # Permissions
//
// In the namespace, the verbs get, create, patch and watch on leases of the group
// coordination.k8s.io; list for leaderrun status without a name, and delete for leaderrun forget
// and doctor. RBAC cannot limit create to some names.
//
// # Limits
//
// The ttl is in whole seconds for electors, rounded up.
//
// A cluster's API is out of reach for a while when its control plane is upgraded or its etcd
// has no leader. A ttl of 30s or more bridges what a ttl of 15s may not.
//
// Anybody who may delete Leases in the namespace can end a term: the holder learns of it at once,
// and kills its job, but somebody else may have the lock a moment earlier.
package kubernetes
