package known

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Azblob describes the backend azblob. The variables are those of the program az and of Azure's libraries.
var Azblob = backend.Info{
	Scheme:  "azblob",
	Product: "Azure Blob Storage",
	Folder:  "azblob",

	URL:         "azblob://account/container/prefix",
	HeldUntil:   "the blob's lease ends",
	Takeover:    "up to 3s after the lease ends",
	Token:       "counter in the blob, never below the time of its last change",
	Order:       "the first waiter to poll",
	NotifiedBy:  "polling every 2s",
	Learns:      "after its next renewal",
	Needs:       "a container of Azure Blob Storage",
	Permissions: "read and write blobs of the container, and delete them for leaderrun forget and doctor (in Storage Blob Data Contributor); a SAS token needs rcwdl",
	Limits:      "ttl of 15s to 60s, in whole seconds; an unplanned failover of a geo-redundant account may lose a lock",
	Cost:        "about $0.76 a month per held lock ($0.38 with --no-resign) and $0.57 per waiter, with a ttl of 15s, in a general-purpose v2 account, in 2025",

	Params: []backend.Param{
		{Name: "endpoint", Usage: "URL of another address of the service, of another cloud, or of an emulator"},
		{Name: "sas-file", Usage: "FILE with a SAS token, read for each request", About: backend.User},
	},
	Variables: []backend.Variable{
		{Name: "AZURE_STORAGE_ACCOUNT", About: backend.Address},
		{Name: "LEADERRUN_AZBLOB_CONTAINER", About: backend.Address},
		{Name: "AZURE_STORAGE_CONNECTION_STRING", About: backend.Address, Secret: true},
		{Name: "AZURE_STORAGE_KEY", About: backend.User, Secret: true},
		{Name: "AZURE_STORAGE_SAS_TOKEN", About: backend.User, Secret: true},
		{Name: "AZURE_STORAGE_AUTH_MODE", About: backend.User},
		{Name: "AZURE_STORAGE_SERVICE_ENDPOINT"},
		{Name: "AZURE_CLOUD_NAME"},
		{Name: "AZURE_AUTHORITY_HOST", About: backend.User, SDK: true},
		{Name: "AZURE_TENANT_ID", About: backend.User, SDK: true},
		{Name: "AZURE_CLIENT_ID", About: backend.User, SDK: true},
		{Name: "AZURE_CLIENT_SECRET", About: backend.User, Secret: true, SDK: true},
		{Name: "AZURE_CLIENT_CERTIFICATE_PATH", About: backend.User, Secret: true, SDK: true},
		{Name: "AZURE_CLIENT_CERTIFICATE_PASSWORD", About: backend.User, Secret: true, SDK: true},
		{Name: "AZURE_USERNAME", About: backend.User, SDK: true},
		{Name: "AZURE_PASSWORD", About: backend.User, Secret: true, SDK: true},
		{Name: "AZURE_FEDERATED_TOKEN_FILE", About: backend.User, Secret: true, SDK: true},
		{Name: "AZURE_TOKEN_CREDENTIALS", About: backend.User, SDK: true},
		// They protect the token of the machine's own identity.
		{Name: "IDENTITY_HEADER", About: backend.User, Secret: true, SDK: true, Ambient: true},
		{Name: "MSI_SECRET", About: backend.User, Secret: true, SDK: true, Ambient: true},
	},
	Keeps: true,
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanProbe, locks.CanForget,
	},
	MinTTL: 15 * time.Second,
}
