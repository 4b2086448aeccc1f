package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Quorum describes the backend quorum.
var Quorum = backend.Info{
	Scheme:  "quorum",
	Product: "the hosts themselves",
	Folder:  "quorum",
	Unit:    "leaderrun-voter.service",

	URL:         "quorum://h1:7962,h2:7962,h3:7962?key-file=/etc/leaderrun/quorum.key",
	HeldUntil:   "the lease ends",
	Takeover:    "when the lease (--ttl) ends",
	Token:       "greatest that a majority has seen, + 1, starting at the date",
	Order:       "usually first come, first served",
	NotifiedBy:  "message of the voters",
	Learns:      "of a request at once; of a break at its next renewal, and nobody gets the lock before its job is dead or its lease ends",
	Needs:       "nothing but the hosts themselves: a voter on each of three to nine, and a majority of them",
	Permissions: "UDP and TCP to port 7962 of each voter, and the key of key-file",
	Limits:      "a voter must run on each host of the URL, 2 to 9; no lease is longer than 15s (longest=, at most 60s)",
	Cost:        "one message to each voter, and an answer, per renewal; a voter takes some 10 MB",

	Port: "7962",
	Params: []backend.Param{
		{Name: "key-file", Usage: "FILE with keys in base64, one a line; the first seals, all open", About: backend.User},
		{Name: "longest", Usage: "DURATION that no lease exceeds; the same everywhere"},
	},
	Variables: []backend.Variable{
		{Name: "LEADERRUN_QUORUM_HOSTS", About: backend.Address},
	},
	Abilities: []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget},
}
