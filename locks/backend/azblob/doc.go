// Package azblob keeps locks in Azure Blob Storage.
//
// It is a store for package caslease, which has the rest of the lock. A cell is a blob
// without content, and its state is in the blob's metadata. Whoever has the service's own
// lease on the blob holds the lock, and writes the state under that lease. So a lock also
// excludes other programs that take a lease on the same blob, such as a
// BlobDistributedMutex or az storage blob lease acquire, and they exclude it. No run
// deletes a blob. A blob without a state of leaderrun's is somebody else's, and is not touched.
//
// The blobs of a lock, after the prefix and a slash:
//
//	NAME      the lock; "/" in the name is %2F, and "#" before a slot's number %23.
//	          The key leaderrun of its metadata has the state, leaderrunrecord the
//	          record.
//	NAME~ask  made when somebody sends the holder a request. leaderrunask has the last
//	          request, and the token that it is meant for.
//
// A value that is not printable ASCII is in Ascii85, after "ascii85:".
//
// # URL
//
//	azblob://account/container[/prefix][?parameters]
//
// The default prefix of all blobs is leaderrun. The container must exist.
// leaderrun-backends(7) has the parameters.
//
// Settings that the URL omits come from the variables of the program az:
// AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, or
// AZURE_STORAGE_CONNECTION_STRING, which overrides them; AZURE_STORAGE_SERVICE_ENDPOINT or
// AZURE_CLOUD_NAME instead of endpoint=; AZURE_STORAGE_AUTH_MODE=login, which omits key and
// token; and from
// LEADERRUN_AZBLOB_CONTAINER (container or container/prefix, for a URL without one, such as
// "azblob:"). Without a key and a SAS token, credentials are found as by all of Azure's
// libraries (DefaultAzureCredential): the variables AZURE_TENANT_ID and AZURE_CLIENT_ID
// with AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH and
// AZURE_CLIENT_CERTIFICATE_PASSWORD, or AZURE_USERNAME and AZURE_PASSWORD; workload identity
// (AZURE_FEDERATED_TOKEN_FILE); managed identity; or the login of az or azd. AZURE_TOKEN_CREDENTIALS limits the search to
// some of them, and AZURE_AUTHORITY_HOST names the login server of another cloud. They are
// never sent without TLS.
//
// # Liveness
//
// The service alone judges whether a lease has ended: each look at the blob shows it. A
// renewal is one request, which renews the service's lease on the condition that nobody has
// changed the blob. The service would renew a lease that has run out, if nobody has taken
// the blob since. leaderrun does not ask for that: it looks at its own clock before it
// sends. A renewal that is delayed on the way may be accepted after the end. Then nobody
// leads, because the sender counts from the sending, and others wait for one more ttl.
//
// The answer to a request for a lease may be lost. Such a lease is never used: it is given
// up by its id, which leaderrun has proposed, and that is repeated at each look until the
// request can no longer be granted. If the run ends before that, others wait for one ttl.
//
// A waiter looks at the blob every 2 s on average. There is no queue and no order: the
// first waiter to look after a release gets the lock. One waiter notices a release after 1
// s on average, the first of five after about 0.3 s. To use a lock for the first time takes
// 1 s more: see below.
//
// While another program has a lease on the blob, or for a moment when a term begins or
// ends, the holder is shown as "an unnamed lease". To break a term is to break the lease,
// on the condition that the blob is as it was when it showed the term. leaderrun release
// --force also breaks another program's lease, and one without end.
//
// # Fencing token
//
// The token is a counter in the state. It is never below the time of the blob's last
// change, in microseconds, by the service's clock. The service shows that time in whole
// seconds, so a new blob is not used until its second has passed. So tokens go on rising after somebody has deleted the blob. They
// fall only if somebody writes a far greater token by hand and then deletes the blob, or if
// the service's clock goes back.
//
// # Permissions
//
// The identity needs the data actions read and write of
// Microsoft.Storage/storageAccounts/blobServices/containers/blobs, and delete for
// forgetting a lock. The smallest predefined role with these is Storage Blob Data
// Contributor, on the container. A SAS token for the container needs the permissions rcwl,
// and d for forgetting. To inspect and to list, read is enough (in a SAS token, rl). A
// check of the container also reads its properties and those of the account, if that is
// allowed.
//
// # Limits
//
// The ttl is 15s to 60s, in whole seconds. A shorter one is made 15s, and a longer one is
// refused: a lease without end is never asked for.
//
// The first use of a lock, and of each of its slots, takes a second longer.
//
// Operations cost money (Other Operations of a general-purpose v2 account, hot, LRS, 2025:
// $0.0044 for 10,000). A lock that is held makes five renewals per ttl, with 15 s about
// $0.38 a month, and as many reads of requests. Each waiter reads 30 times a minute, about
// $0.57 a month. A run with -n is one read, and one that gets the lock is one read and four
// changes. A list of 64 locks is one request, at $0.055 for 10,000.
//
// If the account is replicated to another region, a failover that is not planned loses the
// last changes: two runs can lead, and tokens can fall. Stop all runs before such a
// failover, or use an account with LRS or ZRS. The same holds for restoring a container to
// an earlier time.
//
// The service refuses to delete the blob of a held lock, unless the request names the
// lease. If an operator breaks the lease first, somebody else may get the lock at once, and
// the holder learns of it with its next renewal. An immutability policy or a legal hold on
// the container forbids all changes, and so all locks.
//
// In the archive tier the service changes no metadata, so the lock of such a blob cannot be
// taken: rules that archive blobs should exclude the prefix. It can be deleted.
//
// When a SAS token ends, requests are denied, and every lease ends. A run warns if that is less
// than an hour away, unless sas-file= names a file.
//
// If the account keeps versions of blobs, each term leaves two: a lifecycle rule should
// delete them.
//
// The service keeps 8 KiB of metadata for a blob. With the largest record, at least 16
// bytes are left for others.
package azblob
