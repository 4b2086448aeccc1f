package kubernetes

import (
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestTokensOfTheNext: where the tokens would go on if the Lease was deleted and created again at
// the Date of an answer. Both times are in whole seconds.
func TestTokensOfTheNext(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		date         time.Time
		known, above bool
	}{
		"in the second of its creation": {created, true, true},
		"later":                         {created.Add(time.Hour), true, true},
		"with the date set back":        {created.Add(-time.Second), true, false},
		"without a Date":                {time.Time{}, false, false},
	} {
		l := &lease{date: tt.date}
		l.Metadata.Created, l.Metadata.ResourceVersion = created, "1000"
		l.Metadata.Annotations = map[string]string{wroteKey: `{"born":900}`}
		c := l.cell(caslease.Lease)
		if known, above := c.Next != 0, c.Next > c.Floor; known != tt.known || above != tt.above {
			t.Errorf("%s: tokens would go on from %d, and the last is %d", name, c.Next, c.Floor)
		}
	}
}
