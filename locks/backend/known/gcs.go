package known

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// GCS describes the backend gcs.
var GCS = backend.Info{
	Scheme:  "gcs",
	Product: "Google Cloud Storage",
	Folder:  "gcs",

	URL:         "gcs://bucket/prefix",
	HeldUntil:   "the lease ends",
	Takeover:    "up to 3s after the lease ends",
	Token:       "counter in the object, starting at the time it was made",
	Order:       "the first waiter to poll",
	NotifiedBy:  "polling every 2s",
	Learns:      "after its next renewal",
	Needs:       "a Google Cloud Storage bucket",
	Permissions: "storage.objects.create, get, list and update, and delete for leaderrun forget and doctor (in roles/storage.objectUser)",
	Limits:      "ttl of at least 5s: below that the service may refuse renewals that come too soon",
	Cost:        "about $4.65 a month per held lock ($4.30 with --no-resign) and $0.52 per waiter, with a ttl of 15s, in a single region, class Standard, in 2025",

	Params: []backend.Param{
		{Name: "endpoint", Usage: "URL of another address of the service, or of an emulator"},
		{Name: "userproject", Usage: "PROJECT that pays"},
	},
	Variables: googleVariables("LEADERRUN_GCS_BUCKET", "STORAGE_EMULATOR_HOST"),
	Refused:   googleRefused("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"),
	Keeps:     true,
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
	Spacing: time.Second,
}
