// Package gossip keeps locks among the hosts themselves, where there is no store that all
// of them reach. Each run that contends for a lock is a member, by
// github.com/hashicorp/memberlist.
//
// With expect=N a lease is granted by a majority of N voters, and excludes. Each member
// votes for any lock that another asks for. The rule by which it votes, and the proof that
// no two lead, are in package votes; a lock that follows it is in package quorum. This
// package is the rest: which process votes, where the voters are, and what they say.
//
// Without expect= nobody votes: the oldest member leads. This excludes nobody. Where a
// network is cut, each part has a leader, unless it has fewer than min= members; and while
// members learn of each other, two may lead. A warning says so at the start.
//
// # URL
//
//	gossip://host1[:port],host2[:port],…[/space]?expect=N[&parameters]
//
// The hosts are seeds: members by which a new one finds all others. The port is 7946 unless
// given. Seeds that are down are tried for ever. Locks in different spaces are different.
// Parameters:
//
//	expect=N        how many hosts vote; the same everywhere
//	min=N           without expect=: nobody leads who sees fewer members that contend for the
//	                lock, itself among them; 1 unless given
//	rank=age        without expect=: the oldest leads, which is the default
//	rank=priority   without expect=: who has the greatest --priority leads, then the oldest
//	longest=TIME    no lease is longer, whatever --ttl says; 15s unless given; the same
//	                everywhere
//	bind=HOST:PORT  the seat of this host; unless given, the first seed that is an address of
//	                this machine and is free. With port 0 it has no seat, and does not vote
//	key-file=FILE   encrypts and authenticates all messages: keys of 16, 24 or 32 bytes in
//	                base64, one a line. The first encrypts, all decrypt. The file is read
//	                again every few seconds
//	insecure=true   binds addresses other than loopback without a key
//
// A URL without hosts takes them from LEADERRUN_GOSSIP_SEEDS. LEADERRUN_GOSSIP_DIR is the
// directory of a file for each seat: see "Fencing token".
//
// # Seats
//
// A seat is an address. The process that has its port, for UDP and TCP, is its voter, so
// the kernel ensures that a seat has one voter at a time. A run that finds the seats of its
// machine taken, by another run, is a candidate only. It has a free port, and takes a seat
// when one is free. So does the helper program of a second term while that of the first
// still ends. Programs that only look, such as leaderrun status, never vote. A host
// name that has several addresses is one seat: the least of those that are this machine's.
// If a program other than leaderrun has the port, that is an error, as far as Linux tells us:
// all to root, and to others which ports their own programs have.
//
// With expect=, only voters are members of the gossip, and membership is only the way to
// find them. A candidate learns from the answers of the seeds where the others are. Who has
// been a voter is asked as long as this process lives, whether its host seems to be alive
// or not. So a wrong suspicion, which is usual after a process was frozen, delays nothing.
//
// # Age
//
// Without votes, a member publishes one number by which all compare its age: the moment of
// its start, in milliseconds on the timeline of the fleet. So all decide alike, which they
// would not if each estimated the ages of the others. The timeline is that of the boot
// clock of the first member; no date matters. A member that meets others for the first time
// takes their timeline; of two that were alone, the younger does. So ages are right up to
// the time that a message takes, but not between two fleets that grew before they met.
//
// A younger leader that learns of an older member reports a loss when its view has been the
// same for 1 s, so that its job is killed. The older one leads when the younger has stepped
// down, or has left its view. A member that was suspected keeps its number. A member that
// does not answer leaves the view after about 6 s. Then another leads, whether the job of
// the former one lives or not.
//
// # Liveness
//
// A voter that has just started abstains for longest=. So a lock can be held longest= after
// a majority of the hosts has started, and a handle whose run has ended does not vote any
// more. This is for services that run on each host all the time (--rejoin), not for cron. A
// candidate is granted the lock in two rounds: two messages to each voter, two answers.
// They are sent over UDP, and again a few times within a tenth of the ttl or half a second.
// A renewal is one round. A voter passes a release on to the candidates that it has
// refused, with their place in the order in which they asked; each waits 25 ms longer per
// place. The order is a courtesy and no queue.
//
// A voter tells who watches, such as leaderrun watch, of each change of its vote. The end of
// a lease that was not released is noticed within a second. Without expect=, and where no
// majority answers, leaderrun looks again and again instead.
//
// If a host dies, its lease ends by the clocks of the voters, at most one ttl later.
// Nothing suspects it sooner.
//
// # Fencing token
//
// It is one more than the greatest that any of a majority of the voters has seen. A voter
// writes into a file, before it answers, a number no less than any token that it has seen,
// and the next voter of the seat starts with that, or with the date, in milliseconds since
// 1970, if that is greater. So tokens rise for ever. Without the file, they rise while a
// voter starts at a later date than those before it, by more milliseconds than there were
// terms since; see package votes for what happens if dates are wrong. The file is HOST_PORT
// in LEADERRUN_GOSSIP_DIR, /var/lib/leaderrun/gossip for root, and
// ~/.local/state/leaderrun/gossip for others. A seat on loopback has one only if the
// variable is set. Exclusion never depends on a date or a file.
//
// Without votes the token is one more than the greatest in sight, and no less than the
// date.
//
// # Permissions
//
// Hosts need UDP and TCP to each other's seats, both ways. A second run on a host has a
// free port, which must be reachable, too. Anybody who has the key, or, without one, can
// send to the members, can take part, and lie: then two may lead.
//
// # Limits
//
// No more than N voters may live at once. That is for the operator to ensure: give each
// host of expect= one seat, and stop a host before another takes its place. To change
// expect= or longest=, stop all members first; who sees other numbers refuses to vote, and
// says so.
//
// A voter knows 4,096 locks, and answers about no other while all of them are held.
// Messages are bounded. A majority that has stopped has forgotten its votes, which is why a
// voter that starts abstains.
//
// Records, for --once-per and --slots, are in the memory of the voters: one is written when
// a majority has it. A voter that starts takes the records of the others, as far as it
// reaches them, before its answers count. So a record is lost with the last voter; and it
// may be if voters start again one after the other while they are cut off from those that
// have it. Voters exchange up to 4 MiB of records.
//
// No term can be broken by an operator (leaderrun release): a voter that frees itself may be
// one of two majorities. Stop the run instead. For the same reason a term is not continued
// by another process. Without expect= there is no list and no record, because members do not
// publish the names of locks, and two leaders would each write a record of their own.
//
// leaderrun status shows how each voter votes, and leaderrun doctor whether a majority can be
// reached, whether each seed accepts connections and answers over UDP, versions, and the rates
// of clocks. It sees only what this host reaches: run it on each.
package gossip
