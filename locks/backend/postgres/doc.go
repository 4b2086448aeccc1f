// Package postgres keeps locks in a table of PostgreSQL, version 13 or later.
//
// The table is leaderrun_locks in one schema, and made by the first run that may. It has a
// row for each lock, and one more for what its holder is asked:
//
//	name, part   the lock, and 0 for itself or 1 for requests
//	version      counted for the whole table: each write has a greater one
//	first        the version of the row when it was made; NULL: still the same
//	state        JSON: whether it is held, by whom, for how long; see caslease
//	text         what a Recorder keeps
//	updated      when that was written, by the server's clock
//	epoch        when that server was started
//
// A release frees the row. No run deletes one. To read them as an operator:
//
//	SELECT name, updated, convert_from(state, 'UTF8') FROM leaderrun_locks WHERE part = 0
//
// # URL
//
//	postgres://[user[:password]@]host[:port][,host...]/database[?schema=NAME&parameters]
//
// The schema is public unless given, and never a matter of search_path. All else is as
// psql takes it. Parameters, beside schema=:
//
//	host= port= dbname= user=             instead of before the "?"; a socket's directory
//	service= servicefile= passfile=       the files in which more is
//	sslmode= sslrootcert= sslcert= sslkey= sslcertmode= sslsni= sslnegotiation=
//	require_auth= channel_binding=        which ways to log in are allowed
//	connect_timeout=                      seconds for one host; else its share of all
//	target_session_attrs=                 always read-write
//	min_protocol_version= max_protocol_version= options= application_name=
//
// What the URL leaves open is taken from PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD,
// PGPASSFILE, PGSERVICE, PGSERVICEFILE, PGSSLMODE, PGSSLROOTCERT, PGSSLCERT, PGSSLKEY,
// PGSSLPASSWORD, PGOPTIONS, and psql's other variables for the parameters above;
// "postgres:" leaves open all. A password after the "?" is refused, and so are PGHOSTADDR,
// PGREQUIREPEER, PGSSLCRL and PGSSLCRLDIR, which the driver does not know. Unlike psql it
// takes a passfile that others can read. Files are read anew for each connection. Of
// several hosts the first is used that can be written to.
//
// # Liveness
//
// The server has no leases: the row says when it was last written, and a lease runs out if
// it is not written again. Each write has the condition that the row has the version that
// was read. That a holder has gone is judged in one of two ways:
//
//   - The server's clock, in the statement that takes the lock over, is later than
//     updated by the lease and 1 s. That counts only if the very server that has written
//     the row goes on since: another one that was promoted, or the same after a start,
//     may have another clock.
//   - Otherwise the row must not change for a whole lease, by the boot clock of the one
//     who waits.
//
// Each change but renewals is notified (NOTIFY, on a channel for each schema), and who
// waits or holds listens: a release is noticed at once, and so is a request to the holder,
// or that the lock was taken from it. A pooler that lends connections, such as PgBouncer,
// lets nothing through: leaderrun notices that it is there, says so with -v and in doctor,
// and looks every second. All else works through it, in any of its modes: each request
// is one transaction, sent at once, with no state of the session. A run has one
// connection, and for a moment more when requests overlap. There is no order among those
// who wait.
//
// # Durability
//
// Each transaction sets synchronous_commit to on for itself, unless it is remote_apply:
// what is acknowledged is on the server's disk, and on those of its synchronous standbys.
// An acknowledgement with a warning counts as none: it comes when somebody cancels the
// wait for a standby. To read afterwards that the row is ours is not enough, either: it is
// written once more (caslease.Traits.ReadsEarly). A server in recovery is refused, and so is one that is read-only.
//
// # Fencing token
//
// It is at least the version that the row had before, and one more. Versions come from a
// sequence that begins with the time in microseconds: so they rise also when a row, or the
// table, was deleted and made anew.
//
// # Permissions
//
// With the table made by its owner (an error has the statement), a run needs
//
//	GRANT USAGE ON SCHEMA public TO runner;
//	GRANT SELECT, INSERT, UPDATE ON public.leaderrun_locks TO runner;
//
// and DELETE to forget locks. To make the table takes CREATE on the schema, which since
// version 15 only the owner of the database has on public. Whoever may write to the table
// can take any lock.
//
// # Limits
//
// An asynchronous standby may lack the last writes: if it is promoted, a lock may be
// granted that is held, with a token that was given out before. Promote synchronous ones
// only (synchronous_standby_names), or fence where it matters. A server that goes on taking
// writes after another has taken its place grants the same locks, too: that is for whatever
// manages the failover to keep from happening. With fsync off a crash loses what was
// granted. Doctor looks at all of these.
//
// The server's clock must not be set forward by more than a second while it runs, or a
// holder that is alive is taken over; its next renewal, or a notification, tells it.
//
// Each write makes an old version of the row, for vacuum: a lock that is held makes five
// for each ttl. What keeps vacuum from its work, such as a transaction that stays open for
// days, makes reads slower.
//
// The least lease is 1 s, leases are in whole milliseconds. A run has a connection while
// it waits or leads, of which servers have 100 unless max_connections is raised.
package postgres
