package gcs

import (
	"crypto/x509"
	"net"
	"net/http"

	"cloud.google.com/go/auth"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A cause is a kind of error with its own hint, or one that the recipe has to know.
type cause struct {
	is   func(error) bool
	kind caslease.Kind // 0: the request may have had an effect
	text string        // replaces the service's text; "": that text is clear enough
	hint string
}

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

// known returns all causes in order: the first that matches an error counts.
func known() []cause {
	return []cause{
		{is: bucketMissing, kind: caslease.Refused, hint: "check the bucket's name; make it with: gcloud storage buckets create gs://BUCKET"},
		{is: causes.Is[*credentialsError], kind: caslease.Denied, hint: hintLogin},
		{is: causes.Is[*searchError], kind: caslease.Unsent, text: "no credentials were found in time: the machine's metadata server does not answer", hint: hintLogin},
		{is: tokenRefused, kind: caslease.Denied, text: "the credentials were not accepted, or have expired", hint: hintLogin},
		{is: causes.Is[*auth.Error], kind: caslease.Unsent},
		{is: coded(http.StatusUnauthorized), kind: caslease.Denied, hint: hintLogin},
		{is: throttle, kind: caslease.Throttled, hint: "Cloud Storage accepts about one write a second for each object; use a longer --ttl"},
		{is: reasoned("quotaExceeded"), kind: caslease.Refused, hint: "a quota of the project is used up"},
		{is: reasoned("insufficientPermissions"), kind: caslease.Denied, hint: hintScope},
		{is: reasoned("retentionPolicyNotMet", "objectUnderActiveHold"), kind: caslease.Denied, hint: hintKept},
		{is: saying("requester pays"), kind: caslease.Denied, hint: "name the project that pays with gcs://BUCKET/PREFIX?userproject=PROJECT"},
		{is: causes.Is[*roomError], kind: caslease.Refused, hint: "the service keeps 8 KiB of custom metadata for an object; remove what is not leaderrun's from the lock's object"},
		{is: coded(http.StatusForbidden), kind: caslease.Denied, hint: hintRole},
		{is: unresolved, kind: caslease.Unreachable, hint: hintHost},
		{is: causes.Is[*net.DNSError], hint: hintHost},
		{is: causes.Is[*x509.UnknownAuthorityError], hint: hintCA},
		{is: causes.Is[x509.UnknownAuthorityError], hint: hintCA},
		{is: causes.Unreachable, kind: caslease.Unreachable, hint: "check the network, and STORAGE_EMULATOR_HOST or endpoint= if one is set"},
		{is: saying("server gave HTTP response to HTTPS client"), hint: "the server does not speak TLS; write http:// if it is an emulator"},
		{is: saying("invalid character"), text: textAlien, hint: hintAlien},
		{is: alien, kind: caslease.Unsent, text: textAlien, hint: hintAlien},
		{is: coded(http.StatusPreconditionFailed, http.StatusNotFound), kind: caslease.Changed},
		{is: coded(http.StatusRequestTimeout)},
		{is: func(err error) bool { return status(err)/100 == 4 }, kind: caslease.Refused},
	}
}
