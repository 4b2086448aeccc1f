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

// storageClass is that of all objects that we make, whatever the bucket's default: in
// the cold classes each renewal and each look costs several times as much.
const storageClass = "STANDARD"

func cold(class string) bool {
	return slices.Contains([]string{"NEARLINE", "COLDLINE", "ARCHIVE"}, class)
}

// A lifecycleRule is one of the bucket's, as the service writes it. The SDK's lacks
// the conditions that the SDK does not know, and those of value 0, and so seems to
// concern objects that the rule does not.
type lifecycleRule struct {
	Action struct {
		Type         string `json:"type"`
		StorageClass string `json:"storageClass"`
	} `json:"action"`
	Condition map[string]json.RawMessage `json:"condition"`
}

// describe asks for the bucket's settings, and returns its rules beside.
func describe(ctx context.Context, b *storage.BucketHandle) (*storage.BucketAttrs, []lifecycleRule, error) {
	ctx, note := noting(ctx)
	note.copy = new(bytes.Buffer)
	attrs, err := b.Attrs(ctx)
	if err != nil {
		return nil, nil, err
	}
	var raw struct {
		Lifecycle struct {
			Rule []lifecycleRule `json:"rule"`
		} `json:"lifecycle"`
	}
	err = json.Unmarshal(note.copy.Bytes(), &raw)
	return attrs, raw.Lifecycle.Rule, err
}

func (r lifecycleRule) String() string {
	b, _ := json.Marshal(r.Condition) // it was read from JSON
	return locks.Printable(string(b))
}

// A reach says which objects of locks a rule or a condition concerns.
type reach int

const (
	never   reach = iota
	unclear       // some, by their names, or it cannot be told
	certain       // any, once it is old enough
)

// reaches finds out which objects of ours a rule concerns, of those classes. It has to
// meet all conditions.
func (s *settings) reaches(r lifecycleRule, classes []string) reach {
	least := certain
	for name, value := range r.Condition {
		least = min(least, s.meets(name, value, classes))
	}
	return least
}

// meets says which objects of ours meet a condition: they are live, empty, and have no
// custom time. See https://cloud.google.com/storage/docs/lifecycle#conditions.
func (s *settings) meets(name string, value json.RawMessage, classes []string) reach {
	switch name {
	case "age", "createdBefore", "sizeBelowBytes":
		return certain
	case "sizeAboveBytes", "customTimeBefore", "daysSinceCustomTime", "noncurrentTimeBefore", "daysSinceNoncurrentTime":
		return never
	case "isLive":
		return when(string(value) != "false", certain)
	case "numNewerVersions":
		return when(string(value) == "0", certain)
	}
	var list []string
	if json.Unmarshal(value, &list) != nil {
		return unclear
	}
	switch name {
	case "matchesPrefix":
		ours := s.prefix + "/"
		return when(slices.ContainsFunc(list, func(theirs string) bool {
			return strings.HasPrefix(ours, theirs) || strings.HasPrefix(theirs, ours)
		}), certain)
	case "matchesSuffix":
		return when(slices.ContainsFunc(list, s.mayEnd), unclear)
	case "matchesStorageClass":
		return when(slices.ContainsFunc(list, func(class string) bool { return !cold(class) || slices.Contains(classes, class) }), certain)
	}
	return unclear // nobody has thought of it when this was written
}

func when(ok bool, r reach) reach {
	if ok {
		return r
	}
	return never
}

// mayEnd reports whether the name of an object of ours may end with a suffix.
func (s *settings) mayEnd(suffix string) bool {
	slash := strings.LastIndex(suffix, "/")
	if slash >= 0 && !strings.HasSuffix(s.prefix, suffix[:slash]) {
		return false
	}
	end := strings.ReplaceAll(strings.TrimSuffix(suffix[slash+1:], askSuffix), "%", "")
	return locks.CheckName("x"+end) == nil
}

// lifecycle judges the rules that delete our objects, or move them to a cold class.
func (p *probe) lifecycle(rules []lifecycleRule) {
	const fix = "use a bucket without such rules, or limit them to other prefixes"
	classes := p.classes(rules)
	if len(classes) > 0 {
		p.Find("storage class", locks.LevelWarning, "a rule moves objects of the prefix to "+strings.Join(classes, " or ")+", where each renewal and each look costs several times as much", fix)
	}
	var worst reach
	var which lifecycleRule
	for _, r := range rules {
		if got := p.reaches(r, classes); r.Action.Type == "Delete" && got > worst {
			worst, which = got, r
		}
	}
	switch worst {
	case certain:
		p.Find("lifecycle", locks.LevelError, "the rule "+which.String()+" deletes objects of the prefix, and so locks that are held: it counts from when they were made, not from their last renewal", fix)
	case unclear:
		p.Find("lifecycle", locks.LevelWarning, "the rule "+which.String()+" may delete objects of some locks, also while they are held", "see that no lock's object meets the conditions, or limit the rule to other prefixes")
	}
}

// classes are the cold ones that rules move objects of ours to, one after the other.
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
