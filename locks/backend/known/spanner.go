package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Spanner describes the backend spanner.
var Spanner = backend.Info{
	Scheme:  "spanner",
	Product: "Google Cloud Spanner",
	Folder:  "spanner",

	URL:         "spanner://project/instance/database",
	HeldUntil:   "the lease ends",
	Takeover:    "up to 2s after the lease ends",
	Token:       "commit timestamp of the row",
	Order:       "the first waiter to poll",
	NotifiedBy:  "polling every 1s",
	Learns:      "after its next renewal",
	Needs:       "Google Cloud Spanner",
	Permissions: "roles/spanner.databaseUser on the database; its owner creates the table, with the statement that leaderrun doctor shows",
	Limits:      "ttl of at least 2s",
	Cost:        "one row written per renewal, and one read per waiter and second; the smallest instance costs about $65 a month, whatever else it does",

	Params: []backend.Param{
		{Name: "endpoint", Usage: "URL of another address of the service, or of an emulator"},
		{Name: "table", Usage: "NAME of the table"},
	},
	Variables: googleVariables("LEADERRUN_SPANNER_DATABASE", "SPANNER_EMULATOR_HOST"),
	Refused:   googleRefused("CLOUDSDK_API_ENDPOINT_OVERRIDES_SPANNER"),
	Keeps:     true,
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
}

// SpannerTable is the name of the table, unless the URL has another.
const SpannerTable = "leaderrun_locks"

// SpannerGoogleSQL and SpannerPostgreSQL are the statements that create the table, in the two
// dialects of databases.
const (
	SpannerGoogleSQL = `CREATE TABLE ` + SpannerTable + ` (name STRING(256) NOT NULL, part INT64 NOT NULL, ` +
		`created TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp=true), ` +
		`updated TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp=true), ` +
		`state STRING(MAX), record BYTES(MAX)) PRIMARY KEY (name, part)`
	SpannerPostgreSQL = `CREATE TABLE ` + SpannerTable + ` (name varchar(256) NOT NULL, part bigint NOT NULL, ` +
		`created spanner.commit_timestamp NOT NULL, updated spanner.commit_timestamp NOT NULL, ` +
		`state varchar, record bytea, PRIMARY KEY (name, part))`
)
