package kubernetes

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"

	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A Lease has the lock's own name where that can be the name of an object, so that a lock and
// client-go's leader election of the same name exclude each other. Other names (with capitals,
// "/", "_", "@" or ":", and those of slots) would not fit even if escaped, because an object's
// name has at most 253 characters. They become a part that people recognize, and a hash.
const (
	marker    = "leaderrun-" // begins the last part of each name that is not a lock's own
	asked     = "." + marker + "ask"
	readable  = 100 // characters of an escaped name
	hashBytes = 15
)

var (
	// subdomain is what the API takes for the name of a Lease.
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	// label is what it takes for that of a namespace, which has at most 63 characters.
	label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	odd   = regexp.MustCompile(`[^a-z0-9]+`)
)

// object returns the name of the object that holds a cell.
func object(k caslease.Key) string {
	name := k.Name
	if !own(name) {
		hash := sha256.Sum256([]byte(name))
		text := odd.ReplaceAllString(strings.ToLower(name), "-")
		text = strings.Trim(text[:min(len(text), readable)], "-")
		name = text + "." + marker + strings.ToLower(base32.HexEncoding.EncodeToString(hash[:hashBytes]))
		name = strings.TrimPrefix(name, ".")
	}
	if k.Part == caslease.Request {
		name += asked
	}
	return name
}

// own reports whether a lock's name is also that of its Lease.
func own(name string) bool {
	last := name[strings.LastIndex(name, ".")+1:]
	return subdomain.MatchString(name) && !strings.HasPrefix(last, marker)
}
