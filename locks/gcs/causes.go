package gcs

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"

	"cloud.google.com/go/auth"

	"github.com/leaderrun/leaderrun/locks"
)

// A cause is something that people meet.
type cause struct {
	is    func(error) bool
	class error
	text  string // what to say instead of what the service says; "": that is clear enough
	hint  string
}

const (
	textAlien   = "something that is not Cloud Storage answered"
	hintAlien   = "check STORAGE_EMULATOR_HOST or endpoint=, and proxies on the way"
	hintSilent  = "something there accepts connections and does not answer, or a firewall drops them"
	hintLogin   = "run gcloud auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
	hintRole    = "the account needs storage.objects.create, get, list and update on the bucket, and to forget a lock delete; the role roles/storage.objectUser has them"
	hintScope   = "the machine's access scopes must include cloud-platform or devstorage.full_control; changing metadata needs no less"
	hintUnmoved = "a lease is judged by the metageneration and the time updated of its object, which Cloud Storage moves with each change; use the service itself, or an emulator that does so, too"
	hintKept    = "holds and retention policies forbid to delete an object, and so to forget a lock; else leaderrun only changes metadata, which they allow: then an object that it did not make may be in the way"
)

// causes lists what is known; the first that matches counts.
func causes() []cause {
	return []cause{
		{is: isA[*foreignError], class: locks.ErrUnavailable, hint: "delete the object if it is not needed (gcloud storage rm), or use another prefix"},
		{is: isA[*keptError], class: locks.ErrUnavailable, hint: "remove it if it is not needed: gcloud storage objects update --remove-custom-metadata=" + keptKey},
		{is: isA[*roomError], class: locks.ErrUnavailable, hint: "the service keeps 8 KiB of custom metadata for an object; remove from the lock's what is not leaderrun's"},
		{is: isA[*unmovedError], class: locks.ErrUnavailable, hint: hintUnmoved},
		{is: isA[*locks.UsageError], class: locks.ErrUsage},
		{is: bucketMissing, class: locks.ErrUnavailable, hint: "check the bucket's name; make it with: gcloud storage buckets create gs://BUCKET"},
		{is: isA[*credentialsError], class: locks.ErrDenied, hint: hintLogin},
		{is: isA[*searchError], class: locks.ErrUnavailable, text: "no credentials were found in time: the machine's metadata server does not answer", hint: hintLogin},
		{is: tokenRefused, class: locks.ErrDenied, text: "the credentials were not accepted, or have expired", hint: hintLogin},
		{is: coded(http.StatusUnauthorized), class: locks.ErrDenied, hint: hintLogin},
		{is: throttle, class: locks.ErrUnavailable, hint: "Cloud Storage takes about one write a second for each object; use a longer --ttl"},
		{is: reasoned("quotaExceeded"), class: locks.ErrUnavailable, hint: "a quota of the project is used up"},
		{is: reasoned("insufficientPermissions"), class: locks.ErrDenied, hint: hintScope},
		{is: reasoned("retentionPolicyNotMet", "objectUnderActiveHold"), class: locks.ErrDenied, hint: hintKept},
		{is: saying("requester pays"), class: locks.ErrDenied, hint: "name the project that pays with gcs://BUCKET/PREFIX?userproject=PROJECT"},
		{is: coded(http.StatusForbidden), class: locks.ErrDenied, hint: hintRole},
		{is: isA[*net.DNSError], class: locks.ErrUnavailable, hint: "check the network, and the spelling of the host name if one was given"},
		{is: isA[*x509.UnknownAuthorityError], class: locks.ErrUnavailable, hint: "name a file with the CA in SSL_CERT_FILE"},
		{is: isA[x509.UnknownAuthorityError], class: locks.ErrUnavailable, hint: "name a file with the CA in SSL_CERT_FILE"},
		{is: unreachable, class: locks.ErrUnavailable, hint: "check the network, and STORAGE_EMULATOR_HOST or endpoint= if one is set"},
		{is: saying("server gave HTTP response to HTTPS client"), class: locks.ErrUnavailable, hint: "the server does not speak TLS; write http:// if it is an emulator"},
		{is: saying("invalid character"), class: locks.ErrUnavailable, text: textAlien, hint: hintAlien},
		{is: alien, class: locks.ErrUnavailable, text: textAlien, hint: hintAlien},
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func coded(code int) func(error) bool {
	return func(err error) bool { return status(err) == code }
}

func reasoned(reasons ...string) func(error) bool {
	return func(err error) bool { return hasReason(err, reasons...) }
}

func saying(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// tokenRefused reports that the server which gives out access tokens refused
// our credentials.
func tokenRefused(err error) bool {
	e, ok := errors.AsType[*auth.Error](err)
	return ok && !transient(e)
}
