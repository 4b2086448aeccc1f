package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Gossip describes the backend gossip.
var Gossip = backend.Info{
	Scheme:  "gossip",
	Product: "the hosts themselves",
	Folder:  "gossip",

	URL:         "gossip://host1:7963,host2:7963,host3:7963?min=2&key-file=/etc/leaderrun/gossip.key",
	HeldUntil:   "the others do not see the holder, whether its job lives or not: it excludes nobody",
	Takeover:    "when the others have missed it for about 6s",
	Token:       "greatest in sight, + 1, no less than the date",
	Order:       "the oldest; with rank=priority, the greatest --priority",
	NotifiedBy:  "message of the holder",
	Learns:      "usually at once; it cannot be taken away",
	Needs:       "nothing but the hosts themselves; each part of a network that is cut may have its own leader",
	Permissions: "UDP and TCP between all hosts, both ways, and the key of key-file",
	Limits:      "excludes nobody: each part of a network that is cut may have its own leader; no record, so no --once-per and no --slots; a ttl only says how long a frozen leaderrun keeps its own job",
	Cost:        "each member sends some 600 bytes a second",

	Port: "7963",
	Params: []backend.Param{
		{Name: "bind", Usage: "HOST:PORT where this host listens; port 0: any", About: backend.User},
		{Name: "key-file", Usage: "FILE with keys in base64, one a line; the first encrypts", About: backend.User},
		{Name: "min", Usage: "N, how many members a leader must see; required", About: backend.Refusal},
		{Name: "rank", Usage: "who leads", Words: []string{"age", "priority"}},
	},
	Variables: []backend.Variable{
		{Name: "LEADERRUN_GOSSIP_SEEDS", About: backend.Address},
	},
	ExcludesNobody: true,

	Abilities: []locks.Ability{locks.CanInspect, locks.CanAsk, locks.CanProbe},
}
