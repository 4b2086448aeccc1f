// Package gcs keeps locks in Google Cloud Storage.
//
// It is a store for package caslease, which has the rest of the lock. A cell is an object
// without content, and its state is in the object's custom metadata. A run creates the
// object on the condition that it does not exist (ifGenerationMatch=0). Each later change
// is a change of metadata, on the condition that nobody else has changed it
// (ifGenerationMatch and ifMetagenerationMatch). No run deletes an object or replaces its
// content. An object without a state of leaderrun's is somebody else's, and is not touched.
//
// The objects of a lock, after the prefix and a slash:
//
//	NAME      the lock; "/" in the name is %2F, and "#" before a slot's number %23.
//	          The key leaderrun of its metadata has the state, leaderrun-record the
//	          record.
//	NAME~ask  created when somebody sends the holder a request. leaderrun-ask has
//	          the last request, and the token that it is meant for.
//
// # URL
//
//	gcs://bucket[/prefix][?parameters]
//
// The default prefix of all objects is leaderrun. leaderrun-backends(7) has the parameters.
//
// Settings that the URL omits come from the environment: LEADERRUN_GCS_BUCKET
// (bucket or bucket/prefix, for a URL without a bucket, such as "gcs:") and
// STORAGE_EMULATOR_HOST. Credentials are the application default ones, as for all
// of Google's tools: the file that GOOGLE_APPLICATION_CREDENTIALS names, or else the one
// of "gcloud auth application-default login", or else the machine's account.
// Over http:// they are neither looked for nor sent. gcloud's own login is not used, so its
// variables for another one (CLOUDSDK_AUTH_*, CLOUDSDK_CONFIG) are refused, unless
// GOOGLE_APPLICATION_CREDENTIALS is set, and so are those for another address of the
// service (CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE, CLOUDSDK_CORE_UNIVERSE_DOMAIN).
//
// # Liveness
//
// The service promises that a change moves an object's metageneration and "updated". It
// promises nothing for a write that changes nothing. Others judge a lease by both, and by
// the Date of an answer: see [caslease.ByStamps]. All three are the service's. A Date is
// ignored if it is missing, or if the answer has Age, Via or Warning, which caches and
// proxies add.
//
// An object with an invalid record is never taken over, because nobody knows for how long
// it is held: delete it.
//
// A waiter reads the object every 2 s on average, and every second when the
// lease has less than 3 s left. There is no queue and no order: the first waiter to look
// after a release gets the lock. One waiter notices a release after 1 s on average, the
// first of five after about 0.3 s.
//
// Listing all locks of a prefix takes one request for each 64 objects. The service
// skips objects with another slash in their names. It does not report changes of an
// object: a client that wants to know has to look.
//
// The record is stored in base64, because the service advises against bytes that are not
// ASCII: 4096 bytes become 5.4 KiB. With the largest state, at least 256 bytes of the
// 8 KiB that the service keeps for an object are left for metadata of others.
//
// # Fencing token
//
// The token starts at the time when the object was created, in microseconds, by the
// service's clock. It falls only if somebody writes a far greater token by hand and then
// deletes the object. (The documentation says that generation numbers need not rise, so
// nothing depends on that.)
//
// # Permissions
//
// The account needs storage.objects.create, storage.objects.get,
// storage.objects.list (without it the service does not say that an object does
// not exist) and storage.objects.update on the bucket, or on the prefix as a
// managed folder. The smallest predefined role with these is
// roles/storage.objectUser. Forgetting a lock needs storage.objects.delete, which
// that role also has; no run deletes anything. Listing and breaking locks need
// no more than a run. A check of the bucket reads its rules if the account
// may (storage.buckets.get, as in roles/storage.bucketViewer). The access scopes of a virtual
// machine must include devstorage.full_control or cloud-platform.
//
// Holds and retention policies do no harm: they forbid deleting and replacing
// objects, but allow changes of metadata.
//
// # Limits
//
// The service accepts about one write a second for each object, and refuses more
// with 429. Renewals are then tried again. With a --ttl of 5 s or more,
// renewals are at least a second apart; with less there is a warning. The shortest
// lease is 1 s, and leases are in whole milliseconds.
//
// Operations cost money (prices of single regions and of the class Standard, 2025).
// A lock that is held makes five writes per ttl. With 15 s these are 20 a minute, about
// $4.30 a month at $0.05 for 10,000, and as many reads of requests, about $0.35 at
// $0.004 for 10,000. Each waiter reads 30 times a minute, about
// $0.52 a month. A run with -n is one read, and one that gets the lock is one read
// and two writes; writing a record is one more write. Objects are created in the class
// Standard, whatever the bucket's default, because operations on the others cost several
// times as much. Exclude the prefix from rules that move objects to another class.
//
// If an operator deletes the object of a held lock, somebody else may
// get the lock at once, and the holder learns of it with its next renewal. The record is
// lost even if nobody held the lock. A lifecycle rule of the bucket can do the same: it
// counts from when the object was created, however often it was renewed. Use
// a bucket without such rules, or exclude the prefix from them.
//
// A proxy that replaces the Date of answers, without saying that it is
// there, can make a lock be taken over too early. The new holder notices this and
// waits. A holder that still lives learns of it with its next renewal.
//
// The objects of unused locks stay until somebody has the lock forgotten. Object
// versioning and soft deletion keep no copies of renewals, because only metadata
// changes; what is forgotten they keep, and a retention policy forbids to forget.
package gcs
