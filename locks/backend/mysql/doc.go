// Package mysql keeps locks in a table of MySQL, version 8 or later, or of MariaDB, version
// 10.5 or later.
//
// The table is leaderrun_locks in one database, and its engine is InnoDB. The first run with
// the permission creates it. It has a row for each lock, and another for requests to its
// holder:
//
//	name, part   the lock, and 0 for itself or 1 for requests
//	version      begins with the time in microseconds; each write has a greater one
//	first        the version of the row when it was created
//	state        JSON: whether it is held, by whom, for how long; see caslease
//	text         the record
//	updated      when the row was written, in UTC, by the server's clock
//	epoch        the run of that server: its name, its port, and when it was started
//
// A release frees the row. No run deletes a row. An operator reads them with
//
//	SELECT name, updated, CONVERT(state USING utf8mb4) FROM leaderrun_locks WHERE part = 0
//
// # URL
//
//	mysql://[user[:password]@][host[:port][,host...]]/database[?parameters]
//
// With several hosts, leaderrun uses the first that accepts writes; each host, and each
// address of its name, has its share of the time, and the one that was used last comes
// first. A host may be the path of the server's socket, with each "/" as "%2F".
// leaderrun-backends(7) has the parameters.
//
// What the URL omits is taken from option files, as by the program mysql of MySQL and of MariaDB:
// /etc/my.cnf, /etc/mysql/my.cnf, my.cnf in MARIADB_HOME or MYSQL_HOME, ~/.my.cnf, and what these
// include; in the groups client, mysql, client-server, client-mariadb and mariadb-client, and in
// those with MARIADB_GROUP_SUFFIX or MYSQL_GROUP_SUFFIX after their names. The options are host,
// port, socket, protocol, user, password, database, ssl, ssl-mode, ssl-ca, ssl-cert, ssl-key,
// ssl-verify-server-cert, tls-version, server-public-key-path and get-server-public-key. Those that
// would mean another server, another user or less of TLS, and are not supported, are refused, such
// as bind-address, ssl-crl or ssl-cipher; the rest does not matter. So is the encrypted file of
// mysql_config_editor (~/.mylogin.cnf, or MYSQL_TEST_LOGIN_FILE), unless the URL says host and
// user, or names an option file. A directory that a package of MySQL was built with, and its
// socket, are not known: name a socket. A file that anybody can write is refused; leaderrun accepts
// one that others can read. Files are read again for each connection.
//
// What the files omit is taken from MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT or
// MARIADB_UNIX_PORT, MYSQL_PWD and LEADERRUN_MYSQL_DATABASE; "mysql:" omits all. The default user
// is the one who runs leaderrun.
//
// If no setting is about TLS, it is spoken if the server offers it, and the server is not
// verified. With cacert=, tls=true, or an ssl-mode that begins with VERIFY, the server is
// verified, always with its name. With tls=false there is no TLS. Without TLS, a server may
// want the password encrypted with its own key, as MySQL 8 does. Anybody could give one, so
// that is refused, unless server-public-key-path has the key, or get-server-public-key says
// to trust any.
//
// # Liveness
//
// A lease ends if the row is not written again: package rows says how a waiter knows.
//
// MySQL notifies nobody. Waiters look every second on average, at random moments, and less often
// the longer they wait: after 15 s every 2 to 5 s, and after ten minutes every 2 to 7 s, or with a
// ttl of a minute every 10 to 30 s. They never look so rarely that a takeover comes later. From
// pauses of up to 5 s on, which a ttl of less than 11 s does not allow, they have no connection in
// between. Refused for lack of connections, a waiter pauses for 5 to 15 s, so that holders find
// one first. A holder notices a request, and that it has lost the lock, when it
// renews. A run has one connection, and briefly more when requests overlap. Waiters have no order.
//
// # Transactions
//
// Each request is one transaction in one message, which begins with SET, also one that only
// reads: so a proxy that sends reads to replicas, such as ProxySQL or MaxScale, sends it to the
// primary, and no lock of a row outlives a client. A read has three statements. It sets what it depends on (autocommit, sql_mode, the
// isolation READ COMMITTED), and refuses to write if read_only or innodb_read_only is on,
// whatever the user may do. A connection on which a request has failed is closed. If the answer to a commit is lost,
// or if it collides with another node's of a Galera cluster, the row is read to find out, by
// the nonce in it, whether the commit took effect. An acknowledged commit does not count if
// the row is not as it was written when it is read once more, in the same message. In a Galera
// cluster, each session sets wsrep_sync_wait, so that no node reads what is out of date.
//
// # Fencing token
//
// It is at least one more than the version that the row had before. A version is the server's
// time in microseconds, or one more than the last, whichever is greater. So tokens rise even if
// a row or the table is deleted and created again, unless the server's clock was set back to
// before the last write. Then Forget refuses.
//
// # Permissions
//
// If somebody else has created the table (an error shows the statement), a run needs
//
//	GRANT SELECT, INSERT, UPDATE ON db.leaderrun_locks TO 'runner'@'%';
//
// and DELETE for leaderrun forget and doctor. Creating the table needs CREATE. Anybody who may write to
// the table can take any lock.
//
// # Limits
//
// An asynchronous replica may lack the last writes. If it is promoted, a held lock may be
// granted again, with a token that was granted before. With semi-synchronous replication that
// does not happen while at least one replica acknowledges in time: after its timeout the
// server goes on without (rpl_semi_sync_master_timeout), and a KILL QUERY of a commit that
// waits for a replica also ends the wait. The server reports neither. Of
// several replicas commits wait for one, or for as many as rpl_semi_sync_master_wait_for_slave_count
// says: promote only the one with all transactions. A server that still
// accepts writes after another has taken its place grants the same locks; whatever manages the
// failover has to prevent that. If innodb_flush_log_at_trx_commit is not 1, a crash loses
// granted locks, and if sync_binlog is not 1, a crash of the machine may. Doctor checks
// these. With binlog_format = STATEMENT locks are refused. Of a Galera cluster doctor checks no
// settings: a commit is certified by all nodes, and a crash of all of them loses granted locks unless
// innodb_flush_log_at_trx_commit is 1.
//
// What locks the table ends jobs if it lasts longer than their leases: renewals wait for it.
// mysqldump locks all tables of a database, unless it has --single-transaction.
//
// A proxy in front of a Galera cluster that lends connections to several clients has to keep
// wsrep_sync_wait for each (ProxySQL does); otherwise a waiter may see a release late.
//
// The shortest lease is 1 s (leaderrun wants 2 s), in whole milliseconds. A run has a connection
// while it leads, or has not waited for long. With --slots N, the first waiter has one for each slot,
// at most 8, and one more. Servers allow 151 unless max_connections is raised.
package mysql
