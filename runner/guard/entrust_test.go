package guard

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

func TestEntrustedRoundTrip(t *testing.T) {
	t.Parallel()
	want := proc.OnDeath{Message: aTask.message, Remove: aTask.remove}
	f := entrusted(want)
	if message, remove, err := f.entrusted(); err != nil || !reflect.DeepEqual(proc.OnDeath{Message: message, Remove: remove}, want) {
		t.Errorf("got %q, %q, %v", message, remove, err)
	}
	for n := range f.body {
		if _, _, err := (frame{kindEntrust, f.body[:n]}).entrusted(); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(f.body))
		}
	}
	if _, _, err := (frame{kindEntrust, append(f.body, 0)}).entrusted(); err == nil {
		t.Error("a frame with a byte too many was accepted")
	}
}

// A guard releases the lock of a leaderrun that has died before the start, but not if it was told
// nothing, or only a part of it, or after a start that failed: leaderrun may start the job again.
func TestOrphanedEarly(t *testing.T) {
	t.Parallel()
	whole := entrusted(proc.OnDeath{Message: []byte("release")})
	bad := startOrder{killBy: clock.Never, command: proc.Command{Path: "/none/such", Args: []string{"x"}}, message: []byte("release")}.frame()
	for name, test := range map[string]struct {
		frames []frame
		want   string
	}{
		"entrusted":          {[]frame{whole}, "release"},
		"twice":              {[]frame{whole, whole}, "release"},
		"only files":         {nil, ""},
		"cut short":          {[]frame{{kindEntrust, whole.body[:5]}}, ""},
		"failed start":       {[]frame{whole, bad}, ""},
		"start cut short":    {[]frame{whole, {kindStart, bad.body[:20]}}, ""},
		"a signal to nobody": {[]frame{whole, number(kindSignal, 15), {kind: kindKill}}, "release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := connected(t)
			path := filepath.Join(t.TempDir(), "released")
			release, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer release.Close()
			cl := &Client{conn: ours}
			if err := cl.sendFiles(proc.OnDeath{Release: release}); err != nil {
				t.Fatal(err)
			}
			for _, f := range test.frames {
				if err := ours.send(f); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				newGuard(theirs, machine{}).run()
			}()
			ours.close()
			<-done
			if got, err := os.ReadFile(path); string(got) != test.want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}
