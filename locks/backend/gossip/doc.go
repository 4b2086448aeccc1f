// Package gossip elects a leader among the hosts themselves: the oldest member leads. It
// excludes nobody. Where a network is cut, each part has a leader, unless it has fewer than
// min= members; and while members learn of each other, two may lead. A warning says so at
// each start. Use it for what may run twice; quorum:// excludes.
//
// Each run that contends for a lock is a member, by github.com/hashicorp/memberlist.
//
// # URL
//
//	gossip://host1[:port],host2[:port],…[/space]?min=N&key-file=FILE[&parameters]
//
// The hosts are seeds: members by which a new one finds all others. The port is 7963 unless
// given. Seeds that are down are tried for ever. Locks in different spaces are different.
// leaderrun-backends(7) has the parameters.
//
// A URL without hosts takes them from LEADERRUN_GOSSIP_SEEDS.
//
// A name that is not known yet, and an address that this machine does not have yet, are
// outages, as at boot. A name of this machine that is 127.0.1.1 here, as Debian writes it
// into /etc/hosts, is an error if other seeds are elsewhere.
//
// # Age
//
// A member publishes one number by which all compare its age: the moment of its start, in
// milliseconds on the timeline of the fleet, which is that of the boot clock of the first
// member; no date matters. A member that meets others for the first time takes their
// timeline; of two that were alone, the younger does. So ages are right up to the time that
// a message takes, but not between two fleets that grew before they met.
//
// A younger leader that learns of an older member reports a loss when its view has been the
// same for 1 s, so that its job is killed. The older one leads when the younger has stepped
// down, or has left its view.
//
// # Liveness
//
// A leader that ends says so, and the next one leads within half a second. One that does
// not answer leaves the view after about 6 s, or later on a busy machine or where several
// have ended at once; then another leads, whether the job of the former one lives or not.
// --ttl only says how long a frozen leaderrun keeps its own job.
//
// Each run that contends listens at the port of its host's seed, for TCP and UDP. A second
// one has a free port, which must be reachable, too, and takes connections at that of the
// seed when the first has ended.
//
// # Fencing token
//
// It is one more than the greatest in sight, and no less than the date, in milliseconds
// since 1970. Two leaders may have the same.
//
// # Permissions
//
// Hosts need UDP and TCP to each other, both ways, at the addresses at which they listen: a
// container needs the network of its host, because a published port, or NAT, does not work.
// Anybody who has the key can take part, and lie. Without one, so can every user of the
// machine; messages that would end a member, or exhaust its memory, are dropped.
//
// # Limits
//
// There is no record, so no --once-per, no --slots and no --takeover strict, because two
// leaders would each write their own. Locks cannot be listed, watched or broken. A request to
// resign is sent a few times over UDP, and may get lost. At most 1,024 members are known.
//
// leaderrun status shows all contenders in the view of this host, and leaderrun doctor whether
// each seed answers over TCP and UDP. Run them on each host.
package gossip
