package gcs

import (
	"crypto/x509"
	"net"
	"net/http"

	"cloud.google.com/go/auth"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
)

const (
	textAlien = "something that is not Cloud Storage answered"
	hintAlien = "check STORAGE_EMULATOR_HOST or endpoint=, and proxies on the way"
	hintLogin = "run gcloud auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
	hintRole  = "the account needs storage.objects.create, get, list and update on the bucket, and delete for forgetting a lock; the role roles/storage.objectUser has them"
	hintScope = "the machine's access scopes must include cloud-platform or devstorage.full_control, which changing metadata needs"
	hintHost  = "check the network, and the spelling of the host name if one was given"
	hintCA    = "name a file with the CA in SSL_CERT_FILE"
	hintKept  = "holds and retention policies forbid deleting an object, and so forgetting a lock; anything else that leaderrun does only changes metadata, which they allow, so another program's object may be in the way"
)

// allCauses returns all causes in order: the first that matches an error counts.
func allCauses() []causes.Cause {
	return []causes.Cause{
		{Is: bucketMissing, Kind: causes.Refused, Hint: "check the bucket's name; make it with: gcloud storage buckets create gs://BUCKET"},
		{Is: causes.Is[*credentialsError], Kind: causes.Denied, Hint: hintLogin},
		{Is: causes.Is[*searchError], Kind: causes.Unsent, Text: "no credentials were found in time: the machine's metadata server does not answer", Hint: hintLogin},
		{Is: tokenRefused, Kind: causes.Denied, Text: "the credentials were not accepted, or have expired", Hint: hintLogin},
		{Is: causes.Is[*auth.Error], Kind: causes.Unsent},
		{Is: coded(http.StatusUnauthorized), Kind: causes.Denied, Hint: hintLogin},
		{Is: throttle, Kind: causes.Throttled, Hint: "Cloud Storage accepts about one write a second for each object; use a longer --ttl"},
		{Is: reasoned("quotaExceeded"), Kind: causes.Refused, Hint: "a quota of the project is used up"},
		{Is: reasoned("insufficientPermissions"), Kind: causes.Denied, Hint: hintScope},
		{Is: reasoned("retentionPolicyNotMet", "objectUnderActiveHold"), Kind: causes.Denied, Hint: hintKept},
		{Is: saying("requester pays"), Kind: causes.Denied, Hint: "name the project that pays with gcs://BUCKET/PREFIX?userproject=PROJECT"},
		{Is: causes.Is[*roomError], Kind: causes.Refused, Hint: "the service keeps 8 KiB of custom metadata for an object; remove what is not leaderrun's from the lock's object"},
		{Is: coded(http.StatusForbidden), Kind: causes.Denied, Hint: hintRole},
		{Is: unresolved, Kind: causes.Unreachable, Hint: hintHost},
		{Is: causes.Is[*net.DNSError], Hint: hintHost},
		{Is: causes.Is[*x509.UnknownAuthorityError], Hint: hintCA},
		{Is: causes.Is[x509.UnknownAuthorityError], Hint: hintCA},
		{Is: causes.NoConnection, Kind: causes.Unreachable, Hint: "check the network, and STORAGE_EMULATOR_HOST or endpoint= if one is set"},
		{Is: saying("server gave HTTP response to HTTPS client"), Hint: "the server does not speak TLS; write http:// if it is an emulator"},
		{Is: saying("invalid character"), Text: textAlien, Hint: hintAlien},
		{Is: alien, Kind: causes.Unsent, Text: textAlien, Hint: hintAlien},
		{Is: coded(http.StatusPreconditionFailed, http.StatusNotFound), Kind: causes.Changed},
		{Is: coded(http.StatusRequestTimeout)},
		{Is: func(err error) bool { return status(err)/100 == 4 }, Kind: causes.Refused},
	}
}
