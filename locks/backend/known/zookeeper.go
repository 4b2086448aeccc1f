package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// ZooKeeper describes the backend zk.
var ZooKeeper = backend.Info{
	Scheme:  "zk",
	Product: "ZooKeeper",
	Folder:  "zookeeper",

	URL:         "zk://host:2181,host:2181/chroot",
	HeldUntil:   "the session ends",
	Takeover:    "when the session (--ttl) ends",
	Token:       "czxid",
	Order:       "first come, first served; with mode=unfair, the fastest",
	NotifiedBy:  "watch",
	Learns:      "at once",
	Needs:       "ZooKeeper 3.5 to 3.9",
	Permissions: "create, read, write and delete on the chroot or, if that is missing, on its parent; all contenders need the same user",
	Limits:      "ttl of 2 to 20 ticks of the server, by default 4s to 40s",
	Cost:        "one connection, and about 100 bytes written per renewal; with --slots N, the first waiter has a connection for each slot, at most 8, and one more",

	Port: "2181",
	Params: []backend.Param{
		{Name: "mode", Usage: "a queue, or no order", Words: []string{"fair", "unfair"}},
		{Name: "auth-file", Usage: "FILE with user:password", About: backend.User},
		{Name: "cacert", Usage: "FILE with the authorities of the servers' certificates"},
		{Name: "cert", Usage: "FILE with our certificate"},
		{Name: "key", Usage: "FILE with its key", About: backend.User},
		{Name: "servername", Usage: "NAME in the servers' certificates"},
		{Name: "tls", Usage: "speak TLS or not", Words: []string{"true", "false"}},
	},
	Variables: []backend.Variable{
		{Name: "ZK_HOSTS", About: backend.Address},
		{Name: "ZK_AUTH", About: backend.User, Secret: true},
		{Name: "LEADERRUN_ZK_CHROOT"},
		{Name: "LEADERRUN_ZK_CACERT"},
		{Name: "LEADERRUN_ZK_CERT"},
		{Name: "LEADERRUN_ZK_KEY", About: backend.User, Secret: true},
		// Of zkCli.sh, and perhaps of other programs in Java.
		{Name: "JVMFLAGS", About: backend.Refusal, Ambient: true},
		{Name: "CLIENT_JVMFLAGS", About: backend.Refusal, Ambient: true},
	},
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
	QueueOnly: "in its fair mode",
}
