// Package gcs keeps locks in Google Cloud Storage.
//
// It is a store for package caslease, which has the rest of the lock. A cell is one object
// without content, in whose custom metadata its state is. It is made on the condition that
// there is none (ifGenerationMatch=0), and each later change is a change of metadata on the
// condition that nobody else has changed it (ifGenerationMatch and ifMetagenerationMatch).
// No run deletes anything, nor replaces content.
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
// The service promises that a change moves an object's metageneration and "updated", and
// nothing of a write that changes nothing. What others judge a lease by is both, and the
// Date of an answer: see [caslease.ByStamps]. All are the service's. A Date is not relied
// upon if it is not there, or came with Age, Via or Warning, by which caches and proxies can
// be told.
//
// An object whose record makes no sense is never taken over, as nobody knows for how long
// it is held: delete it.
//
// Who waits reads the object, in the mean every 2 s, and every second when the
// lease has less than 3 s left. There is no queue, and no order: who looks first
// after a release has the lock. A release is noticed after 1 s in the mean by
// one who waits, after some 0.3 s by the first of five.
//
// To list all locks of a prefix is one request for each 64 objects there; objects
// that have one more slash in their names are passed over by the service. The service
// does not tell when an object changes: who wants to know must look.
//
// A text beside the lock is kept in base64, as the service advises against other bytes
// than ASCII: 4096 bytes become 5.4 KiB.
// With the largest state they leave 256 bytes and more of the 8 KiB that the
// service keeps for an object, for metadata of others.
//
// # Fencing token
//
// The token starts at the time at which the object was made, in microseconds, by the
// service's clock. Who writes a far greater token by hand and then deletes the object makes
// it fall. (The documentation says that generation numbers need not rise, so nothing depends
// on that.)
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
package gcs
