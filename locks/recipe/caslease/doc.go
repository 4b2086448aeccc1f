// Package caslease makes a lock of any store that can change one small value only if it
// is as it was read: an object with a condition, a row with a version, a key with a
// revision. Such a backend is a [Store], which makes one request for each call, and
// [Traits], which say what is special about it. All waiting, retrying and judging is here.
// Package storetest checks a Store, and docs/writing-a-backend.md shows a whole backend.
//
// A lock is one cell. Its state says whether it is held, by whom, for how long after each
// write, and under which token. Each attempt to take the lock writes a nonce of its own, by
// which it is recognised if the answer was lost. A release marks the lock as free. No run
// deletes anything.
//
// # Liveness
//
// The store has no leases: the cell says when it was last written, or at least that it was
// written, and a lease runs out if it is not written again. A renewal is one write, on the
// condition that the cell is unchanged. If it is not, the cell is read: it may be an earlier
// renewal whose answer was lost, which the nonce tells. Otherwise the lock is surely lost.
//
// Others see a renewal by the cell's Version and Updated. So each renewal counts up a number
// in the record, and the answer must show that what others rely on has moved; else the
// renewal has failed, whatever the store said, and the error says what has not. The same
// goes for the write that takes the lock.
//
// That a holder has gone is judged without comparing the clocks of two machines that have or
// want the lock: by what the store's own clock shows in one answer, as far as it says that
// this proves anything ([Expiry]), or by a whole lease without a change, by the boot clock
// of the one who waits. Where it only seems so, the takeover is in doubt until the stamps of
// the cell before and after show it, too; else the rest of the lease is waited out. Until
// its first renewal the new record speaks of a lease no shorter than the one before, in case
// the new holder dies before it has compared the stamps.
//
// The length of the lease is what the record says, at most 24 h. A cell whose record makes
// no sense (none or another, a ttl of 0 or of more than 24 h) is never taken over, as nobody
// knows for how long it is held.
//
// Who waits only reads: there is no queue, and no order. Who looks first after a release has
// the lock. Where the store is a [Watcher], those who wait are woken, and a holder hears at
// once what it is asked, and that it has lost the lock; otherwise by its next renewal.
//
// # Inspecting
//
// To inspect a lock is one read. A lock whose lease seems to have run out is told as held:
// one look cannot prove more. What is left of the lease is told by the store's clock, where
// it has one, and may be up to a second too much; below 0, it is over.
//
// To take a lock away from its holder (break it) is one read and one write, on the condition
// that the cell has not changed in between. The lock is free then, and its record says that
// this was no release.
//
// To forget a lock deletes its cells, as they are when it says that it is free. If it names a
// holder, the lock is acquired first, as only who can have it knows that there is none.
//
// # Record
//
// The text beside the lock is in the same cell, and written under the condition of a renewal.
// So the store itself refuses it once somebody else has taken the lock, and other changes
// leave it as it is. To write it extends no lease for the holder. As it moves Updated, others
// wait for the lease anew from then on. That does no harm: the holder relies on less than
// they grant it. After the end of its lease it does not write.
//
// A write does not begin while a renewal is under way, is tried again when the store refuses
// it for coming too soon, and the next renewal keeps its distance where there is time for
// that. A renewal does not wait for it: if both are under way, one of them fails, reads the
// cell, and writes again.
//
// # Requests to the holder
//
// They are in a cell of their own. Where nobody tells of changes the holder reads it, in the
// background, after each renewal that succeeded. So it hears of one a fifth of the ttl later
// at most. That read extends nothing, and does no harm if it fails. A holder that is not
// allowed to make it warns once and does not try again; one that will not resign does not
// make it. With the token of an earlier term a request is of no effect.
//
// # Fencing token
//
// The token is a number in the record. It starts at the First of the cell, rises with each
// term, and is never below the Floor, so that no record can make it fall while its cell is
// there, and a cell that is made anew goes on above it.
//
// Grant.Clean is true if the holder before has released the lock. It is false for a lock
// that has no cell: somebody may have deleted it.
package caslease
