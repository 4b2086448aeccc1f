package known

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Consul describes the backend consul. The variables are those of the program consul.
var Consul = backend.Info{ //nolint:gosec // names of variables, and no credentials
	Scheme:  "consul",
	Product: "Consul",
	Folder:  "consul",

	URL:         "consul://host:8500/prefix",
	HeldUntil:   "the session ends",
	Takeover:    "three leases (--ttl) after the last renewal",
	Token:       "modify index of the key",
	Order:       "the fastest",
	NotifiedBy:  "blocking query",
	Learns:      "at once",
	Needs:       "Consul 1.14 or later",
	Permissions: `with ACLs, write for key_prefix "leaderrun/" and for session_prefix "", or for session of the agent's node only; to take a lock away needs it for the holder's`,
	Limits:      "ttl at least 10s; a session that is not renewed ends after twice the ttl, and nobody gets its lock for another ttl",
	Cost:        "two requests per renewal",

	Port: "8500",
	Params: []backend.Param{
		{Name: "cacert", Usage: "FILE with the authorities of the server's certificate"},
		{Name: "cert", Usage: "FILE with our certificate"},
		{Name: "compat", Usage: "whose locks to exclude, too", Words: []string{"consul-lock"}},
		{Name: "dc", Usage: "NAME of the datacenter, which must be the agent's own"},
		{Name: "key", Usage: "FILE with its key", About: backend.User},
		{Name: "namespace", Usage: "NAMESPACE of the keys (Enterprise)"},
		{Name: "partition", Usage: "PARTITION of the keys (Enterprise)"},
		{Name: "servername", Usage: "NAME in the server's certificate"},
		{Name: "tls", Usage: "speak TLS or not", Words: []string{"true", "false"}},
		{Name: "token-file", Usage: "FILE with the ACL token, read for each request", About: backend.User},
	},
	Variables: []backend.Variable{
		{Name: "CONSUL_HTTP_ADDR", About: backend.Address},
		{Name: "CONSUL_HTTP_TOKEN", About: backend.User, Secret: true},
		{Name: "CONSUL_HTTP_TOKEN_FILE", About: backend.User, Secret: true},
		{Name: "CONSUL_HTTP_AUTH", About: backend.User, Secret: true},
		{Name: "CONSUL_HTTP_SSL"},
		{Name: "CONSUL_HTTP_SSL_VERIFY", About: backend.Refusal},
		{Name: "CONSUL_CACERT"},
		{Name: "CONSUL_CAPATH"},
		{Name: "CONSUL_CLIENT_CERT"},
		{Name: "CONSUL_CLIENT_KEY", About: backend.User, Secret: true},
		{Name: "CONSUL_TLS_SERVER_NAME"},
		{Name: "CONSUL_NAMESPACE"},
		{Name: "CONSUL_PARTITION"},
	},
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
	MinTTL: 10 * time.Second,
}
