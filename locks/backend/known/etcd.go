package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Etcd describes the backend etcd. The variables are those of etcdctl.
var Etcd = backend.Info{
	Scheme:  "etcd",
	Product: "etcd",
	Folder:  "etcd",

	URL:         "etcd://host:2379,host:2379/prefix",
	HeldUntil:   "the lease ends",
	Takeover:    "when the lease (--ttl) ends",
	Token:       "create revision of the key",
	Order:       "first come, first served",
	NotifiedBy:  "watch",
	Learns:      "at once",
	Needs:       "etcd 3.4 to 3.7",
	Permissions: "read and write all keys under the prefix, if authentication is enabled",
	Limits:      "ttl in whole seconds, at least 2s with a server's default settings, and 12s behind its grpc-proxy",
	Cost:        "two requests per renewal",

	Port: "2379",
	Params: []backend.Param{
		{Name: "cacert", Usage: "FILE with the authorities of the servers' certificates"},
		{Name: "cert", Usage: "FILE with our certificate"},
		{Name: "key", Usage: "FILE with its key", About: backend.User},
		{Name: "password-file", Usage: "FILE with the password of the user, read for each login", About: backend.User},
		{Name: "servername", Usage: "NAME in the servers' certificates"},
		{Name: "tls", Usage: "speak TLS or not", Words: []string{"true", "false"}},
	},
	Variables: []backend.Variable{
		{Name: "ETCDCTL_ENDPOINTS", About: backend.Address},
		{Name: "ETCDCTL_CACERT"},
		{Name: "ETCDCTL_CERT"},
		{Name: "ETCDCTL_KEY", About: backend.User, Secret: true},
		{Name: "ETCDCTL_INSECURE_TRANSPORT"},
		{Name: "ETCDCTL_INSECURE_SKIP_TLS_VERIFY"},
		{Name: "ETCDCTL_USER", About: backend.User, Secret: true},
		{Name: "ETCDCTL_PASSWORD", About: backend.User, Secret: true},
		{Name: "LEADERRUN_ETCD_PASSWORD_FILE", About: backend.User, Secret: true},
		{Name: "LEADERRUN_ETCD_PREFIX"},
	},
	Refused: []backend.Refused{
		// It goes before ETCDCTL_ENDPOINTS.
		{Name: "ETCDCTL_DISCOVERY_SRV", Unless: "host", Instead: "name the servers of the SRV records in ETCDCTL_ENDPOINTS or in the URL"},
		{Name: "ETCDCTL_API", Unless: "host", Except: []string{"3"}, Instead: "use the variables of etcdctl's API 3, such as ETCDCTL_ENDPOINTS"},
		{Name: "ETCDCTL_AUTH_JWT_TOKEN", Instead: "set ETCDCTL_USER and ETCDCTL_PASSWORD"},
	},
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
}
