// Package gcs keeps locks in Google Cloud Storage.
//
// A lock is one object without content. Its state is in its custom metadata:
// whether it is held, by whom, for how long after each write, and under which
// token. It is made on the condition that there is none (ifGenerationMatch=0),
// and each later change is a change of metadata on the condition that nobody
// else has changed it (ifGenerationMatch and ifMetagenerationMatch). Each
// attempt to take the lock writes a nonce of its own, by which it is recognised
// if the answer was lost. A release marks the lock as free. No run deletes anything,
// nor replaces content.
//
// The objects of a lock, after the prefix and a slash:
//
//	NAME      the lock; "/" in the name is %2F, and "#" before a slot's number %23.
//	          The key leaderrun of its metadata has the state, leaderrun-record the
//	          text that a Recorder keeps.
//	NAME~ask  made when somebody asks the holder for something. leaderrun-ask has
//	          the last request, and the token that it is meant for.
//
// # URL
//
//	gcs://bucket[/prefix][?parameters]
//
// The prefix of all objects is leaderrun unless given. Parameters:
//
//	endpoint=URL         another address of the service (https://…), such as a
//	                     private endpoint, or of an emulator (http://…)
//	userproject=PROJECT  who pays, if the bucket wants the requester to
//
// What the URL leaves open comes from the environment: LEADERRUN_GCS_BUCKET
// (bucket or bucket/prefix, for a URL without a bucket, such as "gcs:") and
// STORAGE_EMULATOR_HOST. Credentials are the application default ones, as of all
// Google's tools: the file that GOOGLE_APPLICATION_CREDENTIALS names, else that
// of "gcloud auth application-default login", else the account of the machine.
// Over http:// none are looked for, nor sent.
//
// # Liveness
//
// The service has no leases: the object says when it was last written, and a
// lease runs out if it is not written again. A renewal is one write, on the
// condition that the object is unchanged. If it is not, the object is read:
// it may be an earlier renewal whose answer was lost, which the nonce tells.
// Otherwise the lock is surely lost. Nothing tells a holder between two
// renewals that the lock was taken from it.
//
// Others see a renewal by the object's metageneration and "updated". The service
// promises that a change moves them, and nothing of a write that changes nothing: so
// each renewal counts up a number in the record. The answer must show that both have
// risen; else the renewal has failed, whatever its status, and the error says which
// has not. The same goes for the write that takes the lock.
//
// That a holder has gone is judged in one of two ways, neither of which
// compares the clocks of two machines that lease or want the lock:
//
//   - The Date of the service's answer is later than the object's "updated" by
//     more than the lease and a margin of 1 s. Both times are the service's. So
//     the lock of a holder that died long ago is had at once. The stamps that
//     the service puts on the object before and after the takeover must then
//     differ by the lease as well: if they do not, the Date was wrong, and the
//     rest of the lease is waited out. Until its first renewal the new record
//     speaks of a lease no shorter than the one before, in case the new holder
//     dies before it has compared the stamps. A Date is not relied upon if it is
//     not there, is before "updated", or came with Age, Via or Warning, by which
//     caches and proxies can be told.
//   - Without that, the object has not changed for a whole lease, by the boot
//     clock of the one who waits.
//
// The length of the lease is what the record says, which is at most 24 h. An
// object whose record makes no sense (no or another record, a ttl of 0 or of
// more than 24 h) is never taken over, as nobody knows for how long it is held:
// delete it.
//
// Who waits reads the object, in the mean every 2 s, and every second when the
// lease has less than 3 s left. There is no queue, and no order: who looks first
// after a release has the lock. A release is noticed after 1 s in the mean by
// one who waits, after some 0.3 s by the first of five.
//
// # Inspecting
//
// To inspect a lock is one read. A lock whose lease seems to have run out is told
// as held, by whom and for how long after each write: one look cannot prove more.
// What is left of the lease is told by the service's clocks, and may be up to a
// second too much; below 0, it is over. There is no queue to tell of.
//
// To list all locks of a prefix is one request for each 64 objects there; objects
// that have one more slash in their names are passed over by the service. What is
// no lock is left out, with a warning if it keeps one from being had. The service
// does not tell when an object changes: who wants to know must look.
//
// To take a lock away from its holder (break it) is one read and one write, on the
// condition that the object has not changed in between. The lock is free then, and
// its record says that this was no release. Its holder learns of it by its next
// renewal.
//
// To forget a lock deletes its object, as it is when it says that it is free. If it
// names a holder, the lock is acquired first, as only who can have it knows that
// there is none.
//
// # Record
//
// The text is written by a change of metadata with the conditions of a renewal.
// So the service itself refuses it once somebody else has taken the lock, and
// other changes leave it as it is: it stays through renewals, releases and
// takeovers. It is gone when somebody deletes the object. It is kept in base64, as
// the service advises against other bytes than ASCII: 4096 bytes become 5.4 KiB.
// With the largest state they leave 256 bytes and more of the 8 KiB that the
// service keeps for an object, for metadata of others.
//
// To write it extends no lease for the holder. As it moves "updated", and changes
// the object, others wait for the lease anew from then on. That does no harm: the
// holder relies on less than they grant it. After the end of its lease it does not
// write.
//
// A write does not begin while a renewal is under way, is tried again when the
// service refuses it for coming too soon, and the next renewal keeps a second's
// distance where there is time for that. A renewal does not wait for it: if both
// are under way, one of them fails, reads the object, and writes again.
//
// # Requests to the holder
//
// After each renewal that succeeded the holder reads, in the background, what it
// is asked. So it hears of it a fifth of the ttl later at most. That read extends
// nothing, and it does no harm if it fails. A holder that is not allowed to make it
// warns once and does not try again; one that will not resign (NoResign) does not
// make it. What was asked stays in its object; with the token of an earlier term it
// is of no effect.
//
// Who asks makes a read and a write, and needs the same permissions as a holder.
//
// # Fencing token
//
// The token is a number in the record. It starts at the time at which the
// object was made, in microseconds, by the service's clock, and rises with each
// term: at least to that time plus the object's metageneration, so that no
// record can make it fall while its object is there. After somebody has deleted
// the object, the next one was made later. Who writes a far greater token by
// hand and then deletes the object makes it fall. (The documentation says that
// generation numbers need not rise, so nothing depends on that.)
//
// # Permissions
//
// The account needs storage.objects.create, storage.objects.get,
// storage.objects.list (without it the service does not say that an object is
// not there) and storage.objects.update on the bucket, or on the prefix as a
// managed folder. The least of the predefined roles with these is
// roles/storage.objectUser. To forget a lock takes storage.objects.delete, which
// that role has as well; no run deletes anything. To list locks, and to break one,
// take no more than a run. A check of the bucket reads its settings if the account
// may (storage.buckets.get, as in roles/storage.bucketViewer), and asks which of
// these permissions it has on the bucket. The access scopes of a virtual
// machine must include devstorage.full_control or cloud-platform.
//
// Holds and retention policies do no harm: they forbid to delete and to replace
// objects, and allow to change their metadata.
//
// # Limits
//
// The service takes about one write a second for each object, and refuses more
// with 429, after which renewals are tried again. With a --ttl of 5 s or more
// renewals are a second or more apart; with less there is a warning. The least
// lease is 1 s, leases are in whole milliseconds.
//
// Operations cost (prices of single regions and of the class Standard, 2025):
// a lock that is held makes five writes per ttl, 20 a minute with 15 s, at
// $0.05 for 10,000 about $4.30 a month, and as many reads of what it is asked, at
// $0.004 for 10,000 about $0.35; each who waits reads 30 times a minute, about
// $0.52 a month. A run with -n is one read, and one that gets the lock one read
// and two writes; to set a record is one write more. Objects are made in the class
// Standard, whatever the bucket's default: in the others operations cost several
// times as much.
//
// If an operator deletes the object of a lock that is held, somebody else may
// have the lock at once, and the holder knows at its next renewal. The record is
// gone, also if nobody held the lock. A lifecycle rule of the bucket can do that,
// too: it counts from when the object was made, however often it was renewed. Use
// a bucket without, or except the prefix.
//
// A proxy that puts a Date of its own into answers, and does not say that it is
// there, can make a lock be taken over too early. The new holder notices, and
// waits; a holder that is still there is told by its next renewal.
//
// Objects of locks stay when nobody uses them any more, until somebody has the lock
// forgotten. Object versioning and soft deletion keep no copies of what is renewed,
// as only metadata changes.
//
// Grant.Clean is true if the holder before has released the lock. It is false
// for a lock that has no object: somebody may have deleted it.
package gcs
