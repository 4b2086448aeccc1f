// Package spanner keeps locks in a table of Google Cloud Spanner, in a database of either
// dialect (GoogleSQL or PostgreSQL).
//
// It is a store for package caslease, which has the rest of the lock. The owner of the
// database creates the table; no run does. The error of a missing table, and leaderrun
// doctor, show the statement. Package known has both. The table has a row for each
// lock, and another for requests to its holder:
//
//	name, part   the lock, and 0 for itself or 1 for requests
//	created      the commit timestamp of the transaction that created the row
//	updated      the commit timestamp of the last change
//	state        JSON: whether it is held, by whom, for how long; see caslease
//	record       the record
//
// A release frees the row. No run deletes a row. An operator reads them with
//
//	SELECT name, updated, state FROM leaderrun_locks WHERE part = 0
//
// # URL
//
//	spanner://project/instance/database[?parameters]
//
// leaderrun-backends(7) has the parameters.
//
// Settings that the URL omits come from the environment: LEADERRUN_SPANNER_DATABASE
// (PROJECT/INSTANCE/DATABASE, for a URL without a database, such as "spanner:") and
// SPANNER_EMULATOR_HOST. Credentials are the application default ones, as for all
// of Google's tools: the file that GOOGLE_APPLICATION_CREDENTIALS names, or else the one
// of "gcloud auth application-default login", or else the machine's account.
// Over http:// they are neither looked for nor sent. gcloud's own login is not used, so its
// variables for another one (CLOUDSDK_AUTH_*, CLOUDSDK_CONFIG) are refused, unless
// GOOGLE_APPLICATION_CREDENTIALS is set, and so are those for another address of the
// service (CLOUDSDK_API_ENDPOINT_OVERRIDES_SPANNER, CLOUDSDK_CORE_UNIVERSE_DOMAIN).
//
// # Liveness
//
// The service has no leases: the row says when it was last written, and a lease ends if
// the row is not written again. Each write is a transaction with the condition that the row
// still has the commit timestamp that was read. A waiter takes a lock over in one of two
// cases:
//
//   - By CURRENT_TIMESTAMP, in the transaction that takes the lock over, the lease and an
//     eighth of it, at least 1 s, have passed since updated.
//   - Otherwise the row has not changed for a whole lease, by the waiter's boot clock.
//
// A commit timestamp lies between the sending of the commit and its acknowledgement
// (TrueTime). So it is later than the moment from which the holder counts its lease, and a
// transaction that commits late only makes others wait longer. CURRENT_TIMESTAMP is the
// clock of the server that runs the statement. The documentation does not say how accurate
// it is, so a takeover allows for that much.
//
// Transactions are serializable. They are optimistic, so that nothing is locked while one is
// open: a transaction whose answer was lost does not delay the next. A transaction that the
// service aborts is repeated within the time limit of a request. A commit without an answer
// is not: the row shows whether it has taken effect. Reads are strong.
//
// A waiter reads the row every second on average. There is no queue and no order: the first
// waiter to look after a release gets the lock. One waiter notices a release after 0.5 s on
// average, the first of five after about 0.2 s.
//
// # Fencing token
//
// It is at least one more than the commit timestamp that the row had before, in microseconds.
// Commit timestamps of changes to one row rise strictly, also if the row, or the table, is
// deleted and created again. The service refuses a time in the future in such a column. So
// the token falls only if somebody writes a far greater token into a state by hand and then
// deletes the row.
//
// # Permissions
//
// The account needs roles/spanner.databaseUser on the database, or a role with
// spanner.sessions.create, spanner.databases.select, spanner.databases.write,
// spanner.databases.beginReadOnlyTransaction and
// spanner.databases.beginOrRollbackReadWriteTransaction. Anybody who may write to the table
// can take any lock.
//
// # Limits
//
// An operation takes one round trip to the leader region, and a write two. They take longer
// from another continent, or in a configuration with several regions, whose commits wait for
// two of them. The shortest lease is 1 s, and leases are in whole milliseconds.
//
// The price is that of the instance, whatever is done with it: at least 100 processing units,
// about $65 a month in a single region (2025). A held lock makes five writes per ttl, and each
// waiter a read a second; 100 processing units serve hundreds of both. Spanner keeps old
// versions of a row for an hour, or for as long as version_retention_period says: with a ttl
// of 15 s those are about 1,200 for each held lock, of about 1 KB.
//
// If an operator deletes the row of a held lock, somebody else may get the lock at once, and
// the holder learns of it with its next renewal. A row deletion policy on the table can do
// the same. If a database is restored from a backup, the locks in it are those of the
// backup, and tokens still rise; point no run to the old and the new database at a time.
//
// The emulator keeps everything in memory: after a restart there are no locks, and no table.
// It aborts a transaction if there is another in the same database.
package spanner
