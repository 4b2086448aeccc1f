// Package votes decides which of several runs holds a lock, where there is no store that all of
// them reach: a lease is granted by a majority of N voters. It is the rule alone. It has no
// network, no file, no goroutine and no clock: its caller sends the messages, keeps the promises,
// and reads the boot clock.
//
// The rule is that of PaxosLease (Trencseni, Gazso and Reinhardt, arXiv:1209.4187), with votes
// that bind instead of numbered proposals, and with a fencing token.
//
// # The rule
//
// A [Group] is a list of N seats, and the longest lease that anybody may ask for. A seat is a
// place for one voter. A voter is its promises, not a process: a process that keeps each promise
// before it answers, in a store that is emptied at each boot, is continued by the next process in
// the seat. A seat whose promises are lost, or are of another boot or group, has a new voter.
//
// A run has a candidate, and never votes. A candidate asks all voters in rounds, and sends the
// length L of the lease with each request. Here a term begins with the campaign for it.
//
//  1. A voter that grants a request is bound to its term for L, by its own clock, from the
//     moment at which it answers. While it is bound, it refuses every other term.
//  2. A new voter abstains for the longest lease, counted from a moment at which nobody else
//     could vote in its seat any more. A process that continues a voter abstains for as long as
//     that one would have.
//  3. A round is won when a majority of the N seats has granted it. Only answers to that round
//     count, and each seat counts once. A seat in which two voters vote does not count at all.
//  4. A round that is won moves E to t_s + L(1 − 2ρ) − 2δ by the candidate's clock. t_s was
//     read before the round was sent; ρ = 500 ppm and δ = 2 ms are how wrong a clock may be.
//  5. Each round must be won before the E of the one before; the first, before the E that it
//     would give. After E the term is over for ever.
//  6. The first round that is won finds the token: one more than the greatest that any of its
//     voters knows. Each later request carries the token, and each voter notes the greatest
//     that it has seen, also if it refuses. The term is granted when a round with the token
//     is won. Further rounds renew it.
//  7. A withdrawal frees a voter at once, if it is bound to exactly that term. A candidate
//     withdraws a term only if it was not granted, or if E has passed, or if nothing of the
//     job is left. It never asks for that term again. A request for a later term of the
//     same candidate withdraws the earlier ones.
//  8. A voter that an operator tells to break the term to which it is bound refuses that term
//     from then on. It stays bound, because the job may live.
//  9. A term that was granted is lost, and never renewed, when a majority says in one round
//     that it is bound to others or that the term has ended.
//
// Who belongs to another group is answered, but changes nothing: its tokens are not noted, its
// votes do not count.
//
// # What is assumed
//
//   - A seat has one voter at a time. A seat is named, so this is for the operator to ensure: one
//     host with the name, and one process at a time with the promises. A virtual machine that
//     continues from a snapshot has forgotten votes, and is another voter. Two in a seat may each
//     help another candidate, so that two lead. Candidates to which both answer do not count the
//     seat, and voters should compare whom they see in it, but both may be too late.
//   - The group is changed as is said below.
//   - The time between two readings of a boot clock, by whichever process of one boot, is wrong
//     by at most ρ of it, and by less than δ. It runs through suspend. Package clock counts so on
//     Linux: it is right while CLOCK_MONOTONIC_RAW is, however the date is corrected. Nobody
//     compares the clocks of two hosts, but the clocks of a majority and of the candidate must
//     all be right. A clock is read after the message has arrived to which the reading belongs.
//   - Members do not lie. Messages may be lost, repeated, reordered, and late by any time.
//
// # Why two terms never overlap
//
// Say that a term is safe at a moment if a majority of the seats is closed to all others
// then: the voter in each such seat, and any that follows it, grants no other term before E.
//
// A term is safe from the moment at which its first round is won until E, or until it is
// withdrawn. Take a round that was won, and the moment between that and the E that it gives.
// Each voter that granted it answered after t_s. It is bound for L by its own clock, which is
// at least (L − δ)/(1 + ρ) of true time. The candidate counts L(1 − 2ρ) − 2δ from t_s, at most
// (L(1 − 2ρ) − δ)/(1 − ρ) of true time, and that is less. So at E the voter is still bound (1,
// 4), also if its process dies: the answer was sent after the promise was kept. If its promises
// are lost, the next voter in its seat starts later than the vote, and abstains for at least L,
// in however many processes (2). A withdrawal frees it only when the term is over (7); a break
// frees it never (8). These voters are a majority of the seats (3). The next round is won before
// E (5), so there is no gap between rounds.
//
// Two terms are never safe at the same moment. Two majorities of N seats share a seat. At that
// moment it would be closed to all terms but the first, and to all but the second. Both were
// granted there before, one of them later than the other: by a voter that was bound to the
// other, or by one that had to abstain.
//
// A candidate leads only while its term is safe. So no two lead at the same moment.
//
// So the rules prevent
//
//	1  a voter that helps two
//	2  a vote that is forgotten
//	3  a lease from a minority, or from votes that do not bind at the same time
//	4  a candidate that still leads when its votes have ended
//	5  a term that goes on after another one, and late answers
//	6  a token that was given before, or is unknown to the next majority
//	7  a voter that is free too early, or by a withdrawal that comes late
//	8  a break that frees a voter while the job lives
//	9  a job that runs until E although others may lead
//
// Without one of them, TestSearch or TestElections finds two leaders, a token that does not rise,
// or a term that goes on. "make mutants" shows that by changes of the code. TestFlaws,
// TestSearchFlaws and TestForbiddenChanges show it for what is assumed.
//
// # What a loss means
//
// Before E, the voters that granted the last round are bound to the term, or abstain, and every
// majority has one of them. So a majority that is bound to others shows that something assumed is
// not true, and another may lead already (9). If some have ended the term, an operator has broken
// it. Once a majority was told to, no round that is sent later is won: every majority has a voter
// that refuses the term, or has lost its promises since and abstains until after E.
//
// # Why tokens rise
//
// Let a term X be granted before a term Y. They never overlap, so X is over before Y's first
// round is won. A majority noted X's token when it granted X, and it shares a seat with the
// majority that won Y's first round. Say that one voter in that seat granted both. It cannot
// have granted Y first: it would have been bound to Y until Y's first round was won, and X was
// over by then. So it knew X's token when it answered Y, and Y's token is greater.
//
// If the voter that answered Y is a later one, it knows what its floor says. Tokens rise
//
//   - for ever, if each voter starts with what the last one in its seat has noted, in a file
//     that outlives a boot and is written before each answer;
//   - otherwise, while the floor is a date: if a voter starts at a later date than all before
//     it have, each by its own host's clock, by more than one unit for each term since. Dates
//     that are wrong by less than the time between two starts do no harm. This is the weaker
//     promise. It matters only if no voter of the next majority has seen a request of the
//     last term, or has heard of its token since it has started.
//
// For example, A leads three voters with the votes of A and B, and C is cut off. If B loses its
// promises and A dies before it has renewed, neither B nor C knows A's token.
//
// Exclusion never depends on a file that outlives a boot, or on a date.
//
// # Changing the group
//
// Another list of seats is another group. A voter that moves to it continues no promises, so it
// abstains for the longest lease.
//
//   - To replace one host, stop its voter and disable it for good, wait for the longest lease,
//     move the other voters one at a time with the longest lease between two, and start the new
//     one. It can be undone in the same way at any time, with the new host as the replaced one.
//   - For any other change of N or of the longest lease, stop all voters, wait for the longest
//     lease, and start them.
//
// In the second case no two groups vote within a lease. In the first, let M be N/2 + 1. A majority
// of the new group has at least M − 1 of the N − 1 hosts that stay. Each of them has abstained for
// the longest lease since it moved, after the replaced voter was stopped. So no lease is left to
// which that one has contributed. Any other lease of the old group has the votes of M of those
// hosts. As 2M − 1 is more than N − 1, one host is in both majorities, and it cannot have voted in
// the old group later than it moved. So the waits are not for exclusion: with them, a majority
// that has to abstain is as rare as it can be. But the order is, and so is the wait in the second
// case, if the longest lease becomes shorter.
//
// Tokens rise for ever if the new voter starts with what the replaced one has noted. Where that is
// lost, or N changes, the majorities before and after may have no seat in common, and only a date
// as the floor lets tokens rise.
//
// # When somebody leads
//
// This package does not choose the candidates, and safety does not depend on them. Several candidates at once
// may each bind a minority. Each then withdraws, and tries again after a random pause. A
// request that arrives after its term is over binds a voter to nobody. The candidate
// withdraws that vote when it gets it ([Ghost]); if the candidate has died, the voter is
// free after L. So when a majority of voters can talk with each other, somebody can lead
// after at most the longest lease, and does when one candidate asks alone for two rounds.
//
// A voter that starts again and continues costs nothing. When a majority of the hosts has booted,
// nobody leads before the longest lease has passed.
package votes
