package gcs_test

import (
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestTokensRise whatever becomes of the object in between.
func TestTokensRise(t *testing.T) {
	t.Parallel()
	const name = "p/jobs%2Fnightly"
	edit := func(s *gcstest.Server, old, with string) {
		r := recordOf(s)
		i := strings.Index(r, old)
		end := i + strings.Index(r[i:], ",")
		s.SetMetadata(name, map[string]string{"leaderrun": r[:i] + with + r[end:]})
	}
	s := gcstest.Start(t)
	last := uint64(0)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"a release", func() {}},
		{"a release, again", func() {}},
		{"the record says that the token is 1", func() { edit(s, `"token":`, `"token":1`) }},
		{"the record has no token", func() { edit(s, `"token":`, `"token":0`) }},
		{"the object was written anew, with its metadata", func() { s.Rewrite(name) }},
		{"the object was deleted", func() { s.Delete(name) }},
		{"the object was deleted again", func() { s.Delete(name) }},
	} {
		step.do()
		l := at(t, s, options("a"))
		g := drive.Hold(t, l)
		if g.Token <= last {
			t.Errorf("after %s the token is %d; before, it was %d", step.name, g.Token, last)
		}
		last = g.Token
		for range 3 {
			if err := renew(t, l); err != nil {
				t.Fatal(err)
			}
		}
		drive.Release(t, l)
	}
}
