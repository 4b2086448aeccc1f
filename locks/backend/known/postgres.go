package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// PostgresInsteadOfCRL is what to do, because a list of revoked certificates is not supported.
const PostgresInsteadOfCRL = "name in PGSSLROOTCERT only authorities without revoked certificates"

// Postgres describes the backend postgres. Parameters and variables are those of psql, but for passwords in a
// URL, which too many see.
var Postgres = backend.Info{
	Scheme:  "postgres",
	Product: "PostgreSQL",
	Folder:  "postgres",

	URL:         "postgres://host:5432,host:5432/database?schema=public",
	HeldUntil:   "the lease ends",
	Takeover:    "up to 2s after the lease ends",
	Token:       "version of the row",
	Order:       "the first to be notified",
	NotifiedBy:  "LISTEN",
	Learns:      "at once; through a pooler, after its next renewal",
	Needs:       "PostgreSQL 13 to 17",
	Permissions: "USAGE on the schema; SELECT, INSERT and UPDATE on the table leaderrun_locks, and DELETE for leaderrun forget and doctor; CREATE on the schema for the first run, unless the table exists",
	Limits:      "ttl of at least 2s; a failover to an asynchronous standby can lose locks",
	Cost:        "one connection, and one row written per renewal; with --slots N, the first waiter has a connection for each slot, at most 8, and one more",

	Port: "5432",
	Params: []backend.Param{
		{Name: "application_name", Usage: "NAME by which the server shows our sessions", About: backend.User},
		{Name: "channel_binding", Usage: "whether the login is bound to the TLS connection", Words: []string{"disable", "prefer", "require"}, About: backend.Refusal},
		{Name: "connect_timeout", Usage: "SECONDS to wait for one server", About: backend.Refusal},
		{Name: "dbname", Usage: "NAME of the database", About: backend.Address},
		{Name: "host", Usage: "HOST of the server, or the directory of its socket", About: backend.Address},
		{Name: "max_protocol_version", Usage: "VERSION of the protocol at most", About: backend.Refusal},
		{Name: "min_protocol_version", Usage: "VERSION of the protocol at least", About: backend.Refusal},
		{Name: "options", Usage: "OPTIONS for the server"},
		{Name: "passfile", Usage: "FILE with passwords", About: backend.User},
		{Name: "port", Usage: "PORT of the server", About: backend.Address},
		{Name: "require_auth", Usage: "METHODS of login that are allowed", About: backend.Refusal},
		{Name: "schema", Usage: "SCHEMA of the table"},
		{Name: "service", Usage: "NAME in the service file", About: backend.Address},
		{Name: "servicefile", Usage: "FILE with services", About: backend.Address},
		{Name: "sslcert", Usage: "FILE with our certificate", About: backend.User},
		{Name: "sslcertmode", Usage: "whether our certificate is sent", Words: []string{"disable", "allow", "require"}, About: backend.User},
		{Name: "sslkey", Usage: "FILE with its key", About: backend.User},
		{Name: "sslmode", Usage: "whether TLS is spoken and the server verified", Words: []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}, About: backend.Refusal},
		{Name: "sslnegotiation", Usage: "how TLS begins", Words: []string{"postgres", "direct"}, About: backend.Refusal},
		{Name: "sslrootcert", Usage: "FILE with the authorities of the servers' certificates", About: backend.Refusal},
		{Name: "sslsni", Usage: "whether the server is told which name is meant", Words: []string{"0", "1"}, About: backend.Refusal},
		{Name: "target_session_attrs", Usage: "always read-write", Words: []string{"any", "read-write", "primary"}, About: backend.Refusal},
		{Name: "user", Usage: "NAME of the user; without a database it names that, too"},
	},
	Variables: []backend.Variable{
		{Name: "PGHOST", About: backend.Address, SDK: true},
		{Name: "PGPORT", About: backend.Address, SDK: true},
		{Name: "PGDATABASE", About: backend.Address, SDK: true},
		{Name: "PGSERVICE", About: backend.Address, SDK: true},
		{Name: "PGSERVICEFILE", About: backend.Address, Secret: true, SDK: true}, // it may have a password
		{Name: "PGUSER", SDK: true},                                              // without PGDATABASE it names the database, too
		{Name: "PGPASSWORD", About: backend.User, Secret: true, SDK: true},
		{Name: "PGPASSFILE", About: backend.User, Secret: true, SDK: true},
		{Name: "PGSSLMODE", About: backend.Refusal, SDK: true},
		{Name: "PGSSLROOTCERT", About: backend.Refusal, SDK: true},
		{Name: "PGSSLCERT", About: backend.User, SDK: true},
		{Name: "PGSSLKEY", About: backend.User, Secret: true, SDK: true},
		{Name: "PGSSLPASSWORD", About: backend.User, Secret: true, SDK: true},
		{Name: "PGOPTIONS", SDK: true},
		{Name: "HOME", Ambient: true, SDK: true}, // the service file is there
	},
	Refused: []backend.Refused{
		{Name: "PGHOSTADDR", Instead: "give the address as the host"},
		{Name: "PGREQUIREPEER", Instead: "use a socket in a directory that only the server's user can write"},
		{Name: "PGSSLCRL", Instead: PostgresInsteadOfCRL},
		{Name: "PGSSLCRLDIR", Instead: PostgresInsteadOfCRL},
		{Name: "PGREQUIRESSL", Except: []string{"0"}, Instead: "set PGSSLMODE=require"},
		{Name: "PGSSLMINPROTOCOLVERSION", Except: []string{"TLSv1", "TLSv1.1", "TLSv1.2"}, Instead: "let the server require that version"},
		{Name: "PGSSLMAXPROTOCOLVERSION", Except: []string{"TLSv1.3"}, Instead: "let the server refuse later versions"},
		{Name: "PGGSSENCMODE", Except: []string{"disable", "prefer"}, Instead: "use TLS"},
	},
	Keeps: true,
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
}
