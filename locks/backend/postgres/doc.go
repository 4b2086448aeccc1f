// Package postgres keeps locks in a table of PostgreSQL, version 13 or later.
//
// The table is leaderrun_locks in one schema. The first run with the permission creates it.
// It has a row for each lock, and another for requests to its holder:
//
//	name, part   the lock, and 0 for itself or 1 for requests
//	version      begins with the time in microseconds; each write has a greater one
//	first        the version of the row when it was created; NULL: still the same
//	state        JSON: whether it is held, by whom, for how long; see caslease
//	text         the record
//	updated      when the row was written, by the server's clock
//	epoch        when that server was started
//
// A release frees the row. No run deletes a row. An operator reads them with
//
//	SELECT name, updated, convert_from(state, 'UTF8') FROM leaderrun_locks WHERE part = 0
//
// # URL
//
//	postgres://[user[:password]@]host[:port][,host...]/database[?schema=NAME&parameters]
//
// The default schema is public; search_path does not matter. Everything else is as in
// psql, or refused, as said below. leaderrun-backends(7) has the parameters.
//
// Settings that the URL omits are taken from PGHOST, PGPORT, PGDATABASE, PGUSER,
// PGPASSWORD, PGPASSFILE, PGSERVICE, PGSERVICEFILE, PGSSLMODE, PGSSLROOTCERT, PGSSLCERT,
// PGSSLKEY, PGSSLPASSWORD, PGOPTIONS, and psql's other variables for its parameters;
// "postgres:" omits all. A password after the "?" is refused. So are, as variables and in a
// service file, settings of psql which the driver does not know, and without which we would use
// another server or less of TLS: PGHOSTADDR, PGREQUIREPEER, PGREQUIRESSL, PGSSLCRL, PGSSLCRLDIR (and
// ~/.postgresql/root.crl), PGSSLMINPROTOCOLVERSION of TLSv1.3, PGSSLMAXPROTOCOLVERSION, and
// PGGSSENCMODE=require. Services are only looked for in one file. A password from a
// passfile that others can read or write is refused; psql ignores it. Files are read again for
// each connection. With several hosts, leaderrun uses the first that accepts writes; each host,
// and each address of its name, has its share of the time, and the one that was used last comes
// first.
//
// # Liveness
//
// A lease ends if the row is not written again: package rows says how a waiter knows.
//
// Each change except a renewal is notified (NOTIFY, on a channel for each schema), after it is
// committed, in a transaction of its own that waits for no standby: otherwise it could keep other
// applications of the server from notifying. Waiters
// and holders listen, so they notice at once that a lock is released, that the holder
// has a request, or that it has lost the lock. A pooler that lends connections, such as
// PgBouncer, passes on no notifications: leaderrun notices the pooler, reports it with -v,
// and looks every second, later every 2 to 5 s, and after ten minutes every 2 to
// 7 s, or with a ttl of a minute every 10 to 30 s. Everything else works through it, in any of
// its modes: each request is one transaction, sent at once, without state of the session. A
// run has one connection, and briefly more when requests overlap. Waiters have no order.
//
// # Durability
//
// Each transaction sets synchronous_commit to on for itself, unless it is remote_apply:
// an acknowledged write is on the server's disk, and on those of its synchronous standbys.
// An acknowledgement with a warning does not count, because it comes when somebody cancels
// the wait for a standby. Reading afterwards that the row is ours does not prove more, so
// the row is written once more (caslease.Traits.ReadsEarly). Servers in recovery and
// read-only servers are refused.
//
// # Fencing token
//
// It is at least one more than the version that the row had before. A version is the server's
// time in microseconds, or one more than the last, whichever is greater. So tokens rise even if
// a row or the table is deleted and created again, unless the server's clock was set back to
// before the last write (then Forget refuses); and if rows are copied to another server, as by
// logical replication.
//
// # Permissions
//
// If the owner of the database has created the table (an error shows the statement), a
// run needs
//
//	GRANT USAGE ON SCHEMA public TO runner;
//	GRANT SELECT, INSERT, UPDATE ON public.leaderrun_locks TO runner;
//
// and DELETE for leaderrun forget and doctor. Creating the table needs CREATE on the schema, which
// since version 15 only the owner of the database has on public. Anybody who may write to
// the table can take any lock.
//
// # Limits
//
// An asynchronous standby may lack the last writes. If it is promoted, a held lock may be
// granted again, with a token that was granted before. Promote only synchronous standbys
// (synchronous_standby_names), or fence where it matters. With ANY, commits wait for some of
// those that are named, so promote only the one with the greatest LSN. A server that still accepts
// writes after another has taken its place also grants the same locks; whatever manages
// the failover has to prevent that. With fsync off, a crash loses granted locks. Doctor
// checks all of these.
//
// With row-level security on the table, its policies must let the role do everything: where they hide
// or refuse rows, locks cannot be taken.
//
// What locks the table ends jobs if it lasts longer than their leases, as VACUUM FULL may:
// renewals wait for it.
//
// Each write leaves an old version of the row for vacuum: a held lock makes five
// for each ttl. If vacuum cannot remove them, because a transaction stays open for
// days for example, reads become slower.
//
// The shortest lease is 1 s (leaderrun wants 2 s), in whole milliseconds. A run has a connection
// while it waits or leads. With --slots N, the first waiter has one for each slot, at most 8, and
// one more. Servers allow 100 unless max_connections is raised.
package postgres
