package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// MySQL describes the backend mysql. The variables are those of the program mysql of MySQL and MariaDB, but
// for the database.
var MySQL = backend.Info{
	Scheme:  "mysql",
	Product: "MySQL",
	Folder:  "mysql",

	URL:         "mysql://host:3306,host:3306/database",
	HeldUntil:   "the lease ends",
	Takeover:    "up to 2s after the lease ends",
	Token:       "version of the row, starting at the server's clock",
	Order:       "the first waiter to poll",
	NotifiedBy:  "polling every 1s, later 5s",
	Learns:      "after its next renewal",
	Needs:       "MySQL 8 or later, or MariaDB 10.5 or later",
	Permissions: "SELECT, INSERT and UPDATE on the table leaderrun_locks, and DELETE for leaderrun forget and doctor; CREATE for the first run, unless the table exists",
	Limits:      "ttl of at least 2s; a failover to an asynchronous replica can lose locks",
	Cost:        "one connection, and one row written per renewal; with --slots N, the first waiter has a connection for each slot, at most 8, and one more",

	Port: "3306",
	Params: []backend.Param{
		{Name: "cacert", Usage: "FILE with the authorities of the servers' certificates", About: backend.Refusal},
		{Name: "cert", Usage: "FILE with our certificate", About: backend.User},
		{Name: "defaults-file", Usage: "FILE with options, instead of ~/.my.cnf and others", About: backend.Address},
		{Name: "key", Usage: "FILE with its key", About: backend.User},
		{Name: "servername", Usage: "NAME in the servers' certificates", About: backend.Refusal},
		{Name: "socket", Usage: "FILE that is the socket of the server", About: backend.Address},
		{Name: "tls", Usage: "speak TLS or not", Words: []string{"true", "false"}, About: backend.Refusal},
	},
	Variables: []backend.Variable{
		{Name: "MYSQL_HOST", About: backend.Address},
		{Name: "MYSQL_TCP_PORT", About: backend.Address},
		{Name: "MYSQL_UNIX_PORT", About: backend.Address},
		{Name: "MARIADB_UNIX_PORT", About: backend.Address},
		{Name: "MYSQL_PWD", About: backend.User, Secret: true},
		{Name: "MYSQL_HOME", About: backend.Address},
		{Name: "MARIADB_HOME", About: backend.Address},
		{Name: "MYSQL_GROUP_SUFFIX", About: backend.Address},
		{Name: "MARIADB_GROUP_SUFFIX", About: backend.Address},
		{Name: "MYSQL_TEST_LOGIN_FILE", About: backend.Address},
		{Name: "LEADERRUN_MYSQL_DATABASE", About: backend.Address},
		{Name: "HOME", Ambient: true}, // the option file is there
	},
	Keeps: true,
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
}
