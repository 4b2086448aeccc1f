package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Kubernetes describes the backend k8s. The variables are those of kubectl.
var Kubernetes = backend.Info{
	Scheme:  "k8s",
	Product: "Kubernetes",
	Folder:  "kubernetes",

	URL:         "k8s://context/namespace",
	HeldUntil:   "the Lease is unchanged for the lease (--ttl)",
	Takeover:    "a lease (--ttl) after a waiter first sees the last renewal",
	Token:       "counter in the Lease, above its time of creation",
	Order:       "the fastest",
	NotifiedBy:  "watch",
	Learns:      "at once",
	Needs:       "Kubernetes 1.14 or later; it is tested with 1.36",
	Permissions: "get, list, watch, create and patch leases of coordination.k8s.io in the namespace, and delete for leaderrun forget and doctor",
	Limits:      "a restore of the cluster's etcd can repeat tokens",
	Cost:        "one request per renewal, and two watches per run; with a ttl of 15s some 22 requests a minute of the holder, and 3 to 6 of each waiter",

	Params: []backend.Param{
		{Name: "context", Usage: "CONTEXT in the kubeconfig, if its name does not fit before the slash"},
		{Name: "kubeconfig", Usage: "FILE with the clusters, instead of KUBECONFIG"},
	},
	Variables: []backend.Variable{
		{Name: "KUBECONFIG", About: backend.Address, Secret: true},
		{Name: "POD_NAMESPACE", Ambient: true},
		{Name: "KUBERNETES_SERVICE_HOST", About: backend.Address, Ambient: true, SDK: true},
		{Name: "KUBERNETES_SERVICE_PORT", About: backend.Address, Ambient: true, SDK: true},
	},
	Refused: []backend.Refused{
		{Name: "KUBERNETES_MASTER", Instead: "name the server in a kubeconfig"},
	},
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanBreak, locks.CanForget, locks.CanList, locks.CanWatch, locks.CanProbe,
	},
	Keeps: true,
}
