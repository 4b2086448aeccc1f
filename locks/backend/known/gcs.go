package known

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Of all clients of Google's.
const (
	accountFile    = "GOOGLE_APPLICATION_CREDENTIALS"
	insteadOfLogin = "name a file with credentials in " + accountFile
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
	Variables: []backend.Variable{
		{Name: "LEADERRUN_GCS_BUCKET", About: backend.Address},
		{Name: "STORAGE_EMULATOR_HOST"},
		{Name: accountFile, About: backend.User, Secret: true, SDK: true},
		// Credentials may be those of an external account, which is AWS, or a token for S2A.
		{Name: "AWS_SECRET_ACCESS_KEY", About: backend.User, Secret: true, SDK: true, Ambient: true},
		{Name: "AWS_SESSION_TOKEN", About: backend.User, Secret: true, SDK: true, Ambient: true},
		{Name: "S2A_ACCESS_TOKEN", About: backend.User, Secret: true, SDK: true, Ambient: true},
	},
	// They are of gcloud, which has a login of its own.
	Refused: []backend.Refused{
		{Name: "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", Unless: "endpoint", Instead: "give endpoint="},
		{Name: "CLOUDSDK_CORE_UNIVERSE_DOMAIN", Unless: "GOOGLE_CLOUD_UNIVERSE_DOMAIN", Except: []string{"googleapis.com"}, Instead: "set GOOGLE_CLOUD_UNIVERSE_DOMAIN"},
		{Name: "CLOUDSDK_CONFIG", Unless: accountFile, File: "application_default_credentials.json", Instead: "name that file in " + accountFile},
		{Name: "CLOUDSDK_AUTH_ACCESS_TOKEN", Unless: accountFile, Instead: insteadOfLogin},
		{Name: "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", Unless: accountFile, Instead: insteadOfLogin},
		{Name: "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", Unless: accountFile, Instead: insteadOfLogin},
		{Name: "CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT", Unless: accountFile, Instead: insteadOfLogin},
	},
	Keeps: true,
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
	Spacing: time.Second,
}
