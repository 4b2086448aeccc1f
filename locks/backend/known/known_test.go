package known

import (
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend"
)

// TestDescribed checks that a description has everything that tables show, and nothing
// twice.
func TestDescribed(t *testing.T) {
	t.Parallel()
	var schemes, folders []string
	for _, b := range Backends() {
		schemes, folders = append(schemes, b.Scheme), append(folders, b.Folder)
		v := reflect.ValueOf(*b)
		for _, field := range []string{"Scheme", "Folder", "URL", "HeldUntil", "Token", "Order", "NotifiedBy", "Learns", "Needs", "Permissions", "Limits", "Cost", "Params", "Variables", "Abilities"} {
			if v.FieldByName(field).IsZero() {
				t.Errorf("%s has no %s", b.Scheme, field)
			}
		}
		if b.Product == "" && !b.BuiltIn {
			t.Errorf("%s: it has no Product, which its package needs", b.Scheme)
		}
		if !strings.HasPrefix(b.URL, b.Scheme+"://") || !strings.Contains(b.URL, b.Port) {
			t.Errorf("%s: %s is not one of its URLs with the port %q", b.Scheme, b.URL, b.Port)
		}
		if len(b.Addresses()) == 0 {
			t.Errorf("%s: no variable names a store", b.Scheme)
		}
		once(t, b.Scheme, names(b))
	}
	once(t, "schemes", schemes)
	once(t, "folders", folders)
}

func names(b *backend.Info) []string {
	all := b.Heeded()
	for _, p := range b.Params {
		all = append(all, p.Name)
	}
	return all
}

func once(t *testing.T, what string, all []string) {
	t.Helper()
	slices.Sort(all)
	if !slices.Equal(all, slices.Compact(slices.Clone(all))) {
		t.Errorf("%s: duplicates: %q", what, all)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, b := range Backends() {
		if Find(b.Scheme) != b {
			t.Errorf("%s is not found", b.Scheme)
		}
		if b.BuiltIn == slices.Contains(Helpers(), b.Scheme) || !slices.Contains(Schemes(), b.Scheme) {
			t.Errorf("%s is not listed where it belongs", b.Scheme)
		}
	}
	if Find("imaginary") != nil {
		t.Error("found a backend that does not exist")
	}
	if got, want := Queues(), "etcd; zk in its fair mode"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

// TestNoWorkAtStart checks that the descriptions need no initialization: leaderrun starts
// thousands of times a day, so they are data in its file.
func TestNoWorkAtStart(t *testing.T) {
	t.Parallel()
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "init runtime ") {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "leaderrun/locks/") {
			t.Errorf("work at the start of a program: %s", line)
		}
	}
}
