package gcs

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestObjectsApart checks that the objects of locks, of slots, and of requests have
// different names, under any prefix.
func TestObjectsApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, prefix := range []string{"p", "p/jobs", "p/jobs~ask", "p/jobs#3", "p/jobs%233", "p/jobs%2Fask"} {
		for _, name := range []string{"jobs", "jobs/ask", "ask", "jobs-ask", "jobs/3", "jobs:3", "3", locks.SlotName("jobs", 0), locks.SlotName("jobs", 3), locks.SlotName("jobs/ask", 3), locks.SlotName("jobs", 33)} {
			s := &settings{bucket: "b", prefix: prefix}
			for _, object := range []string{s.object(caslease.Key{Name: name}), s.object(caslease.Key{Name: name, Part: caslease.Request})} {
				what := prefix + " " + name
				if before := seen[object]; before != "" {
					t.Errorf("%s is the name of an object of %s and of %s", object, before, what)
				}
				seen[object] = what
			}
		}
	}
}
