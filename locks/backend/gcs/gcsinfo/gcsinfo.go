// Package gcsinfo describes the backend gcs, and links nothing of Google's.
package gcsinfo

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Info describes it.
var Info = backend.Info{
	Scheme:  "gcs",
	Product: "Google Cloud Storage",
	Folder:  "gcs",

	URL:         "gcs://bucket/prefix",
	Liveness:    "a lease",
	Token:       "a counter in the object",
	Order:       "no order",
	Told:        "polling every 2s",
	Permissions: "storage.objects.create, get, list and update, and delete for leaderrun forget, as in roles/storage.objectUser",
	Limits:      "ttl of 5s or more; a holder learns at its next renewal that the lock was taken away",
	Price:       "with a ttl of 15s about $4.65 a month for a lock that is held, $4.30 with --no-resign, and $0.52 for each waiter (single region, class Standard, 2025)",

	Params: []backend.Param{
		{Name: "endpoint", Usage: "URL of another address of the service, or of an emulator"},
		{Name: "userproject", Usage: "PROJECT that pays"},
	},
	Variables: []backend.Variable{
		{Name: "LEADERRUN_GCS_BUCKET", About: backend.Address},
		{Name: "STORAGE_EMULATOR_HOST"},
		{Name: "GOOGLE_APPLICATION_CREDENTIALS", About: backend.User, Secret: true, SDK: true},
	},
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
	Spacing: time.Second,
}
