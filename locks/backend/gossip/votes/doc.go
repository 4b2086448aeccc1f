// Package votes decides which of several processes holds a lock, where there is no store
// that all of them reach: a lease is granted by a majority of N voters. It is the rule alone.
// It has no network, no goroutine and no clock: its caller sends the messages, and reads the
// boot clock.
//
// The rule is that of PaxosLease (Trencseni, Gazso and Reinhardt, arXiv:1209.4187), with votes
// that bind instead of numbered proposals, and with a fencing token.
//
// # The rule
//
// A seat is a place for one voter; there are N. A voter is a process in a seat. When it has
// died, the next process in the seat knows nothing of it. A candidate asks all voters in
// rounds, and sends the length L of the lease with each request.
//
//  1. A voter that grants a request is bound to its term for L, by its own clock, from the
//     moment at which it answers. While it is bound, it refuses every other term.
//  2. A voter that has just started abstains for the longest L that anybody may ask for.
//  3. A round is won when a majority of the N voters has granted it. Only answers to that
//     round count, and each voter counts once.
//  4. A round that is won moves E to t_s + L(1 − 2ρ) by the candidate's clock. t_s was read
//     before the round was sent, and ρ = 500 ppm is the greatest error of a clock's rate.
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
//
// # What is assumed
//
//   - At no moment more than N voters live. A process that takes a seat starts after its
//     predecessor has died. This is for the operator to ensure: a new host that starts before
//     the old one has stopped is one too many. So is a voter that continues from a snapshot
//     of a virtual machine, because it has forgotten votes. With more voters two majorities
//     may have none in common, and two may lead. A candidate to which more than N voters
//     answer in one round reports that ([Crowded]), but it may hear of it too late, or never.
//   - All members know the same [Group]. A voter refuses a candidate that has another one,
//     but that alone excludes nobody: two of three old members and three of five new ones
//     may have no voter in common. To change N or the longest lease, stop all members before
//     the first starts again. If the longest lease becomes shorter, wait for the old one.
//   - A boot clock runs through suspend, and in one second of true time by 1 − ρ to 1 + ρ
//     seconds. Nobody compares two clocks. A clock is read after the message has arrived to
//     which the reading belongs.
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
// at least L/(1 + ρ) of true time. The candidate counts L(1 − 2ρ) from t_s, at most
// L(1 − 2ρ)/(1 − ρ) of true time, and that is less. So at E the voter is still bound (1, 4).
// If it dies, the next voter in its seat starts later than the vote, and abstains for at
// least L (2). A withdrawal frees it only when the term is over (7). These voters are a
// majority of the seats (3): none of them took the seat of another, because it would have
// abstained until answers no longer counted (2, 5). The next round is won before E (5), so
// there is no gap between rounds.
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
//
// Without one of them, TestSearch or TestElections finds two leaders, or a token that does not
// rise. "make mutants" shows that by changes of the code.
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
//     that is written before each answer;
//   - otherwise, while the floor is a date: if a voter starts at a later date than all before
//     it have, each by its own host's clock, by more than one unit for each term since. Dates
//     that are wrong by less than the time between two starts do no harm. This is the weaker
//     promise. It matters only if no voter of the next majority has seen a request of the
//     last term, or has heard of its token since it has started.
//
// For example, A leads three voters with the votes of A and B, and C is cut off. If B starts
// again and A dies before it has renewed, neither B nor C knows A's token.
//
// Exclusion never depends on a file or a date.
//
// # When somebody leads
//
// Who asks is not decided here, and safety does not depend on it. Several candidates at once
// may each bind a minority. Each then withdraws, and tries again after a random pause. A
// request that arrives after its term is over binds a voter to nobody. The candidate
// withdraws that vote when it gets it ([Ghost]); if the candidate has died, the voter is
// free after L. So when a majority of voters can talk with each other, somebody can lead
// after at most the longest lease, and does when one candidate asks alone for two rounds.
//
// When all members start together, nobody leads before the longest lease has passed.
package votes
