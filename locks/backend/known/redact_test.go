package known

import (
	"net/url"
	"strings"
	"testing"
)

// TestRedact: only described parameters are shown, and of backends that are not ours none.
func TestRedact(t *testing.T) {
	t.Parallel()
	for _, b := range Backends() {
		at := b.Scheme + "://u:opensesame@h/p?new=opensesame"
		for _, p := range b.Params {
			at += "&" + p.Name + "=shown"
		}
		if got := redactedBoth(t, at); strings.Contains(got, "sesame") || strings.Count(got, "shown") != len(b.Params) {
			t.Errorf("%s: got %s", at, got)
		}
	}
	if got := redactedBoth(t, "toy://h/p?dir=opensesame"); strings.Contains(got, "sesame") {
		t.Errorf("toy: got %s", got)
	}
}

// redactedBoth returns what Redact and RedactText agree on.
func redactedBoth(t *testing.T, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	if one, other := Redact(u), RedactText(at); one != other {
		t.Errorf("%s: Redact returns %s, RedactText %s", at, one, other)
	}
	return Redact(u)
}
