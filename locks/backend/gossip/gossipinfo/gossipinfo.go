// Package gossipinfo describes the backend gossip.
package gossipinfo

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Info describes it.
var Info = backend.Info{
	Scheme:  "gossip",
	Product: "the hosts themselves",
	Folder:  "gossip",

	URL:         "gossip://host1:7946,host2:7946,host3:7946?expect=3",
	HeldUntil:   "the lease ends",
	Token:       "greatest that a majority of the voters has seen, + 1",
	Order:       "none",
	NotifiedBy:  "message of the holder",
	Permissions: "UDP and TCP between all hosts, and the key of key-file",
	Limits:      "for services, not for cron: who has just started does not vote for 15s (longest=); no lease is longer than that; records are lost with the last voter; without expect=N it excludes nobody",
	Cost:        "one message to each voter, and an answer, per renewal; each member sends some 600 bytes a second",

	Port: "7946",
	Params: []backend.Param{
		{Name: "bind", Usage: "HOST:PORT of this host's seat; port 0: it does not vote", About: backend.User},
		{Name: "expect", Usage: "N, how many hosts vote; the same everywhere. Without it nobody is excluded"},
		{Name: "insecure", Usage: "bind other addresses than loopback without a key", Words: []string{"true", "false"}, About: backend.Refusal},
		{Name: "key-file", Usage: "FILE with keys in base64, one a line; the first encrypts", About: backend.User},
		{Name: "longest", Usage: "DURATION that no lease exceeds; the same everywhere"},
		{Name: "min", Usage: "N, how many members a leader must see, without expect=", About: backend.Refusal},
		{Name: "rank", Usage: "who leads without expect=", Words: []string{"age", "priority"}},
	},
	Variables: []backend.Variable{
		{Name: "LEADERRUN_GOSSIP_SEEDS", About: backend.Address},
		{Name: "LEADERRUN_GOSSIP_DIR", About: backend.User},
	},
	Abilities: []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanProbe},
}
