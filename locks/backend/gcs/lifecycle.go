package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/storage"

	"github.com/leaderrun/leaderrun/locks"
)

// storageClass is the class of all objects that we create, whatever the bucket's default:
// in the cold classes each renewal and each look costs several times as much.
const storageClass = "STANDARD"

func cold(class string) bool {
	return slices.Contains([]string{"NEARLINE", "COLDLINE", "ARCHIVE"}, class)
}

// A lifecycleRule is one of the bucket's rules, as the service writes it. The SDK's type
// drops conditions that the SDK does not know, and those with the value 0, and so seems to
// cover objects that the rule does not.
type lifecycleRule struct {
	Action struct {
		Type         string `json:"type"`
		StorageClass string `json:"storageClass"`
	} `json:"action"`
	Condition map[string]json.RawMessage `json:"condition"`
}

// lifecycleRules asks for the bucket's rules.
func lifecycleRules(ctx context.Context, b *storage.BucketHandle) ([]lifecycleRule, error) {
	ctx, answer := withReply(ctx)
	answer.copy = new(bytes.Buffer)
	if _, err := b.Attrs(ctx); err != nil {
		return nil, err
	}
	var raw struct {
		Lifecycle struct {
			Rule []lifecycleRule `json:"rule"`
		} `json:"lifecycle"`
	}
	err := json.Unmarshal(answer.copy.Bytes(), &raw)
	return raw.Lifecycle.Rule, err
}

func (r lifecycleRule) String() string {
	b, _ := json.Marshal(r.Condition) // cannot fail: it was read from JSON
	return locks.Printable(string(b))
}

// A reach says which objects of locks a rule or a condition covers.
type reach int

const (
	never   reach = iota
	unclear       // some, by their names; or unknown
	certain       // all, once they are old enough
)

// reaches returns which of our objects a rule covers: those that meet all its conditions.
// The objects are of our class, or of one of classes.
func (s *settings) reaches(r lifecycleRule, classes []string) reach {
	least := certain
	for name, value := range r.Condition {
		least = min(least, s.meets(name, value, classes))
	}
	return least
}

// meets returns which of our objects meet a condition. They are live and empty, and have
// no custom time. See https://cloud.google.com/storage/docs/lifecycle#conditions.
func (s *settings) meets(name string, value json.RawMessage, classes []string) reach {
	switch name {
	case "age", "createdBefore", "sizeBelowBytes":
		return certain
	case "sizeAboveBytes", "customTimeBefore", "daysSinceCustomTime", "noncurrentTimeBefore", "daysSinceNoncurrentTime":
		return never
	case "isLive":
		return choose(string(value) != "false", certain)
	case "numNewerVersions":
		return choose(string(value) == "0", certain)
	}
	var list []string
	if json.Unmarshal(value, &list) != nil {
		return unclear
	}
	switch name {
	case "matchesPrefix":
		ours := s.prefix + "/"
		return choose(slices.ContainsFunc(list, func(theirs string) bool {
			return strings.HasPrefix(ours, theirs) || strings.HasPrefix(theirs, ours)
		}), certain)
	case "matchesSuffix":
		return choose(slices.ContainsFunc(list, s.mayEnd), unclear)
	case "matchesStorageClass":
		return choose(slices.ContainsFunc(list, func(class string) bool { return !cold(class) || slices.Contains(classes, class) }), certain)
	}
	return unclear // a condition that we do not know
}

func choose(ok bool, r reach) reach {
	if ok {
		return r
	}
	return never
}

// mayEnd reports whether the name of one of our objects may end with a suffix.
func (s *settings) mayEnd(suffix string) bool {
	slash := strings.LastIndex(suffix, "/")
	if slash >= 0 && !strings.HasSuffix(s.prefix, suffix[:slash]) {
		return false
	}
	end := strings.ReplaceAll(strings.TrimSuffix(suffix[slash+1:], askSuffix), "%", "")
	return locks.CheckName("x"+end) == nil
}

// classes returns the cold classes that rules move our objects to. A rule may move them on
// from the class that another one has moved them to.
func (s *settings) classes(rules []lifecycleRule) []string {
	found := map[string]bool{}
	for range rules {
		for _, r := range rules {
			to := r.Action.StorageClass
			if r.Action.Type == "SetStorageClass" && cold(to) && s.reaches(r, slices.Collect(maps.Keys(found))) > never {
				found[to] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
