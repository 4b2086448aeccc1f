// Package quorum keeps locks among the hosts themselves, where there is no store that all of
// them reach. The URL names N hosts, and on each of them stands a voter. A lease is granted by a
// majority of the N, and excludes.
//
// A voter is the program leaderrun-quorum with the word voter, which the service manager of the
// host starts, and keeps. Runs are candidates, and never vote. So a run that ends, or is frozen,
// takes no vote away, and runs need not live long: cron jobs with -n find the lock held or free.
// The rule by which a voter votes, and the proof that no two candidates lead, is in package votes.
// Package candidate is a lock that follows it over any network, package voter the standing voter,
// package wire how they talk. This package is the rest.
//
// # URL
//
//	quorum://host1[:port],host2[:port],…[/space]?key-file=FILE[&longest=TIME]
//
// The port is 7962 unless given; either all hosts have one, or none. Locks in different
// spaces are different. leaderrun-backends(7) has the parameters.
//
// A URL without hosts takes them from LEADERRUN_QUORUM_HOSTS.
//
// # Seats
//
// Each host that the URL names is a seat, N from 2 to 9, and a majority is N/2 + 1. Nobody else has
// a vote, and no option can add one. Any host that has the key can run jobs, whether it has a seat
// or not. With an even N, no more hosts may fail than with one less.
//
// The group of a voter or a run is the list of names with their ports, in lower case and sorted,
// and longest=. A hash of it is in each packet. Who has another one gets no vote, and is told the
// voter's list. It stops nobody else. If a majority of the voters has another group than a run,
// that is a usage error which has both lists.
//
// So names are compared as they are written, and addresses are not: a name may move to another
// address. All addresses of a name are asked. Names are looked up at the start, and after each
// round that was not won. An answer counts by the seat that it is from, and each seat once. Where
// some of the addresses are loopback ones and others are not, loopback ones are left out, because
// Debian names the host itself as 127.0.1.1 in /etc/hosts.
//
// # Voters
//
//	leaderrun-quorum voter -b URL [--seat HOST] [--key-file FILE] [--runtime-dir DIR] [--state-dir DIR]
//
// A voter is told its seat with --seat, or LEADERRUN_QUORUM_SEAT. Otherwise it takes the one host
// of the URL that has an address of this machine, besides loopback ones; none, or two of them, is an
// error. It listens at the addresses of the seat that are this machine's, over UDP and TCP, and
// tells the service manager then. While names cannot be looked up, and with --seat also while the
// address is not there, it waits. If the address vanishes and returns, another may have had it: the
// voter abstains for longest=.
//
// What it has promised it writes into the runtime directory, before it answers. The next voter of
// the same boot, seat and group continues with that, so a restart costs nothing, however it came
// about. The file names the boot, the offset of the time namespace, the seat, the group, the
// voter, and from when it may vote at all; a lock's term, its end and its token have a line of
// their own, with a checksum. If anything in it is missing, damaged or of another, nothing is
// continued and the voter abstains for longest=. The directory must be a tmpfs, as /run is, and is
// locked by a file in it. A voter that cannot write grants nothing, and says so.
//
// The same happens when the date is set forward by more than a second, because a virtual machine
// that is resumed from a snapshot is in the same boot, and has forgotten promises.
//
// No file keeps two hosts from having one seat: an address may move, a disk be copied. So each
// voter has an id of two random parts: one is in the state directory, the other is drawn whenever
// promises are not continued. Voters tell each other, before they vote and each minute, which ids
// they have heard of in each seat. One that hears of a voter with another first part in its own
// seat, or of one with its own first part that takes turns with it, abstains until nobody has heard
// of that for three minutes, and so does the other. A candidate to which two voters of one seat
// answer in a round does not count the seat.
//
// The state directory also has a number than which no token that was noted is greater, and records,
// one file for each lock. All of it is on the disk, with its directory, before a voter says so.
// Such a voter keeps 4,096 records. When there is one more, it drops the record with the least
// token of a lock that nobody holds. A voter whose state directory is new first takes the records
// of the others; until it has those of enough of them, its records do not count.
//
// # Keys
//
// A file has up to 8 keys of 16 to 64 bytes, in base64, one a line; lines that begin with # are
// comments. Each process derives a key of its own from the first one, by HKDF-SHA256 and a random
// salt, and seals with AES-256-GCM what it sends, under numbers of its own. All keys of the file
// open. A packet begins with a version. One of another version, or that no key opens, has no
// effect but that it is counted, for leaderrun doctor. Voters are upgraded first.
//
// The file must not be readable by everybody, and is read again every few seconds. A key is
// replaced in three steps, each of them everywhere before the next: add the new key behind the old
// one, move it to the front, remove the old one. A service manager that hands the voter a copy of
// the file, as LoadCredential= does, makes a copy at the start, so each step restarts the voters.
// --key-file names that copy instead of the file in the URL.
//
// # Liveness
//
// A candidate is granted the lock in two rounds: two messages to each voter, and two answers. They
// are sent over UDP, and again a few times within a tenth of the ttl or half a second, whichever is
// longer. A renewal is one round, and needs a majority, not always the same. A message is 512 bytes
// or more, and an answer at most three times as long as the message. It goes to where the message
// came from, from the address that was asked.
//
// A voter passes a release on to the candidates that it has refused, with their place in the order
// in which they asked; each waits 10 ms longer per place. The order is a courtesy and no queue.
//
// If a host dies, the leases of its runs end by the clocks of the voters, at most one ttl later.
// Nothing suspects it sooner. While no majority of the voters can be reached, nobody is granted a
// lock, and leaders end their jobs before the end of their leases.
//
// If a majority answers that it is bound to another, or that the term was ended by an operator, the
// lock is lost at once. Two candidates at once may each bind a minority: both withdraw, and try
// again after a random pause. After -n, that is held only if so many voters are bound to one
// term, and know its token, that nobody else can have a majority; else it is an outage.
//
// When an operator takes a lock away (leaderrun release), a majority refuses its holder from then
// on, but stays bound until the holder withdraws, which is when its job is dead, or until the lease
// ends. So two holders never overlap. A request to the holder (leaderrun resign) is pointed out to
// it at once, and again with each renewal until it was fetched. Watches wait at each voter for a
// change of its votes.
//
// # Fencing token
//
// It is one more than the greatest that any of a majority of the voters has seen. The number in
// the state directory is written before a token that is greater is answered, a minute of
// milliseconds ahead, so that this is rare. A voter begins with it, or with the date in milliseconds
// since 1970 if that is greater. So tokens rise for ever, and roughly are dates. Without the
// directory they rise as long as the dates of the hosts do: see package votes. A token that is more
// than a year ahead of what a voter knows is neither noted nor answered. Exclusion never depends
// on a date or on the directory.
//
// # Permissions
//
// UDP and TCP from each host with jobs to the port of each voter, and between voters. Answers come
// back from there to any port. There are no addresses in packets, so nothing else is needed, but
// hosts must see voters at the addresses that these have: a container needs the network of its
// host.
//
// Who can read the key can vote and lead, write records, end terms, and answer in the name of any
// seat. Without the key nobody can do any of that, but can send again what was sent before. It never
// makes two lead: votes are for a term, and rounds have numbers. But it can keep a lock from all:
//
//   - An old request of a candidate binds a free voter to that term again, for its ttl, unless the
//     voter remembers its withdrawal: it remembers 16 of a lock, until it ends.
//   - Old calls of voters, with ids of their hosts from before a start or a replacement, make voters
//     abstain, for a few minutes.
//
// # Limits
//
// Each of the N clocks must run right, not one clock of a server: in one second of true time 0.9995
// to 1.0005 s. leaderrun doctor shows by how much each kernel corrects its clock.
//
// One voter a seat, at any moment, for good. Its directories belong to the host: a runtime
// directory that is in a volume or an image, or is copied to another machine, is one too many. If
// a host is replaced, the voter of the old one must never start again. Two voters in one seat that
// cannot reach any host which both reach do not learn of each other.
//
// A virtual machine that is resumed from a snapshot votes as if nothing had happened until its date
// is right again. Resume no snapshot of a host with a voter.
//
// To change N or longest=, all voters must stop, and longest= pass, before the first starts with
// the new URL: two majorities of different lists may have no voter in common. To replace one host of
// N, its voter stops, longest= passes, and then the other voters change to the new URL one at a
// time, with longest= between two. The page docs/quorum.md has the steps.
//
// A voter knows 4,096 locks, and answers about no other while all of them are held. Forgetting a
// lock needs all voters: one that missed it would bring its record back. No other process continues
// the term of a candidate: if the helper program dies, the lock is lost.
package quorum
