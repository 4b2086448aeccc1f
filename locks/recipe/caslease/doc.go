// Package caslease makes a lock of any store that can change one small value on the
// condition that it is as it was read: an object with a precondition, a row with a version,
// a key with a revision. Such a backend is a [Store], which makes one request for each call,
// and its [Traits]. All waiting, retrying and judging is here. Package storetest checks a
// Store, and docs/writing-a-backend.md shows a whole backend.
//
// A lock is one cell. Its state says whether the lock is held, by whom, for how long after
// each write, and under which token. Each attempt to take the lock writes a nonce of its own,
// by which it is recognized if the answer was lost. A release marks the lock as free. No run
// deletes anything.
//
// # Liveness
//
// The store has no leases. The cell says when it was last written, or at least that it was
// written, and a lease runs out if its cell is not written again. A renewal is one write, on
// the condition that the cell is unchanged. If it has changed, the cell is read. The change
// may be an earlier renewal whose answer was lost, which the nonce shows. Otherwise the lock
// is definitely lost.
//
// Others see a renewal by the cell's Version and Updated. So each renewal raises a counter in
// the state, and the answer must show that what others rely on has moved. Otherwise the
// renewal has failed, whatever the store said, and the error says what has not moved. The
// same holds for the write that takes the lock.
//
// The judgment that a holder is gone never compares the clocks of two machines that have or
// want the lock. It is based either on what the store's own clock shows in one answer, as far
// as the store says that this is proof ([Expiry]) and, if that clock may be wrong, on a time
// without a change; or on a whole lease without a change, by the boot clock of the waiter. If an answer is not proof by itself, the takeover is in doubt
// until the stamps of the cell before and after it confirm that the lease had ended. If they
// do not, the waiter waits for the rest of the lease. Until its first renewal, the new
// holder's state has a lease no shorter than the one before, in case the new holder dies
// before it has compared the stamps.
//
// The state says how long the lease is, at most 24 h. If the state makes no sense (it is
// missing or foreign, or its ttl is 0 or more than 24 h), the lock is never taken over,
// because nobody knows for how long it is held.
//
// Waiters only read. There is no queue and no order: whoever looks first after a release has
// the lock. If the store is a [Watcher], waiters are woken, and a holder learns at once about
// a request and about the loss of the lock; otherwise it does so by its next renewal.
//
// # Inspecting
//
// To inspect a lock takes one read. A lock whose lease seems to have run out is reported as
// held, and with the time for which it must be inspected again until that is proved. The time left of the lease is by the store's
// clock, if it has one, and may be up to a second too long. If it is below 0, the lease has
// ended by that clock.
//
// To break a lock takes one read and one write, on the condition that the cell has not
// changed in between. The lock is free then, and its state says that this was not a release.
//
// To forget a lock deletes its cells, as they are when the state says that the lock is free.
// If the state names a holder, the lock is acquired first: only a run that can take the lock
// knows that the holder is gone.
//
// # Record
//
// The record is in the same cell, and is written under the condition of a renewal. So the
// store refuses the write once somebody else has taken the lock, and other changes leave the
// record as it is. To write it does not extend the holder's lease. But it moves Updated, so
// others wait for a whole lease from then on. That does no harm: the holder relies on less
// than the others grant it. After the end of its lease it does not write.
//
// A write of the record does not begin during a renewal, and is repeated if the store refuses
// it for coming too soon. The next renewal keeps its distance if there is time for that. A
// renewal does not wait for a write of the record: if both are under way, one of them fails,
// reads the cell, and writes again.
//
// # Requests to the holder
//
// Requests are in a cell of their own. If the store does not report changes, the holder reads
// that cell in the background after each renewal that succeeded, so it gets a request at most
// a fifth of the ttl later, or 20 s. That read extends nothing, and does no harm if it fails. A holder
// that is not allowed to read the cell warns once and does not try again; a holder that will
// not resign does not read it. A request with the token of an earlier term has no effect.
//
// # Fencing token
//
// The token is a number in the state. It starts at the First of the cell, rises with each
// term, and is never below the Floor. So no state can make it fall while its cell exists, and
// a cell that is created again goes on above it.
//
// Grant.Clean is true if the previous holder released the lock. It is false for a lock that
// has no cell, because somebody may have deleted the cell.
package caslease
