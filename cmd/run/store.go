package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// store identifies the store in which a backend keeps its locks, for comparing. It is a
// hash of the address and of all else that may affect which store it is. Two different
// results may still be of the same store. The result is "", which equals nothing, if we do
// not know which variables a backend reads, because it is not ours, or if what we would
// compare may contain a secret.
//
// Whoever can connect to the socket of a run can read the result. The hash keeps addresses
// from them, but not a secret: they could guess a weak one, and compare. A salt would not
// help, because the socket would have to tell it. So no secret is hashed. Without a result,
// a leaderrun in the job asks the store who holds the lock, which takes longer and reveals
// nothing.
func store(at *url.URL, env []string) string {
	info := known.Find(at.Scheme)
	if info == nil || at.Opaque != "" || info.CheckParams(at) != nil { // what is unknown may be a secret
		return ""
	}
	place := info.Where(at)
	for _, value := range place.Query() {
		if hasPassword(value[0]) {
			return ""
		}
	}
	if at.User != nil {
		place.User = url.User(at.User.Username())
	}
	said := []string{fmt.Sprintf("uid=%d", os.Geteuid()), place.String()} // the default directory of file differs for root
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		switch {
		case !info.SaysWhere(key):
		case mayBeSecret(info, key, value):
			return ""
		default:
			said = append(said, kv)
		}
	}
	slices.Sort(said[2:])
	sum := sha256.Sum256([]byte(strings.Join(said, "\x00")))
	return hex.EncodeToString(sum[:])
}

// mayBeSecret reports whether the value of a variable may contain a secret: it is described
// as one, or is not described, or there is a password in an address.
func mayBeSecret(info *backend.Info, key, value string) bool {
	i := slices.IndexFunc(info.Variables, func(v backend.Variable) bool { return v.Name == key })
	return i < 0 || info.Variables[i].Secret || hasPassword(value)
}

// hasPassword reports whether a text looks like a URL with a password.
func hasPassword(text string) bool { return locks.RedactText(text) != text }
