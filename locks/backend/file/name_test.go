package file

import (
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nightly":                "nightly.lock",
		"jobs/a.b-c":             "jobs+a.b-c.lock",
		"Jobs":                   "jobs^g0.lock",
		"jobsJobs":               "jobsjobs^10.lock",
		"12345678J":              "12345678j^0200.lock",
		"a:b@c_d":                "a=b@c_d.lock",
		"...":                    "....lock",
		"jobs#12":                "jobs,12.lock",
		"a/b.lock":               "a+b.lock.lock",
		strings.Repeat("Z", 200): strings.Repeat("z", 200) + "^" + strings.Repeat("v", 40) + ".lock",
	} {
		if got := fileName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// FuzzFileName compares two names: different ones never share a file, even if case is
// ignored, and each is one element of a path.
func FuzzFileName(f *testing.F) {
	long := strings.Repeat("A/", 99)
	for _, pair := range [][2]string{
		{"a", "A"}, {"a/b", "a.b"}, {"aB", "Ab"}, {"a:b", "a/b"}, {"a.lock", "a"}, {"a#1", "a"}, {"a#1", "a1"}, {"a#1", "a#11"}, {strings.Repeat("X", 200) + "#64", strings.Repeat("x", 200) + "#64"},
		{long + "a", long + "A"}, {strings.ToLower(long) + "a", long + "a"},
		{strings.Repeat("x", 200), strings.Repeat("X", 200)},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if locks.CheckSlotName(a) != nil || locks.CheckSlotName(b) != nil {
			return
		}
		x, y := fileName(a), fileName(b)
		if a != b && strings.EqualFold(x, y) {
			t.Errorf("%q and %q share %q", a, b, x)
		}
		if len(x) > 250 || strings.ContainsAny(x, `/\:`) || strings.ToLower(x) != x || !strings.HasSuffix(x, suffix) {
			t.Errorf("%q: %q", a, x)
		}
	})
}
