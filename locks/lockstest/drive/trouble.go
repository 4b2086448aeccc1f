package drive

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
)

// A Trouble is something that does not work, and the expected error.
type Trouble struct {
	Name  string
	URL   string
	Class error
	Text  string // in the message
	Hint  string // in the hint
	Slow  bool   // known only after the connect timeout
}

// Check acquires a lock and expects the Trouble: the error has its class and no other,
// one line that names the first server, and a hint; and it comes soon, or not much later
// than the connect timeout. No text contains a secret. Check returns the message.
func (x Trouble) Check(t testing.TB, open locks.Opener, o locks.Options, try bool, later time.Duration, secrets ...string) string {
	t.Helper()
	var log Log
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := Open(t, open, x.URL, o)
	start := time.Now()
	_, err := l.Acquire(Context(t), try)
	took := time.Since(start)
	if !errors.Is(err, x.Class) || !strings.Contains(err.Error(), x.Text) || !strings.Contains(locks.Hint(err), x.Hint) {
		t.Fatalf("got %v\nhint %q\nwant %v, %q, hint %q", err, locks.Hint(err), x.Class, x.Text, x.Hint)
	}
	for _, class := range []error{locks.ErrDenied, locks.ErrUnavailable, locks.ErrHeld, locks.ErrLost, locks.ErrUsage} {
		if !errors.Is(x.Class, class) && errors.Is(err, class) {
			t.Errorf("%v is also of the class %v", err, class)
		}
	}
	u, _ := url.Parse(x.URL) // it was valid for Open
	first, _, _ := strings.Cut(u.Host, ",")
	text := err.Error()
	if want := fmt.Sprintf("acquire %q on %s://%s", o.Name, u.Scheme, first); !strings.HasPrefix(text, want) || strings.ContainsFunc(text, unicode.IsControl) || len(text) > 300 {
		t.Errorf("not one short line that begins with %q: %q", want, text)
	}
	all := fmt.Sprintf("%s %#v %+v %s", text, err, err, locks.Hint(err)) + log.String()
	for _, s := range secrets {
		if strings.Contains(all, s) {
			t.Errorf("%q is shown: %s", s, all)
		}
	}
	limit := o.ConnectTimeout / 2
	if x.Slow {
		limit = o.ConnectTimeout + later
	}
	if took > limit {
		t.Errorf("the answer took %v, want at most %v", took, limit)
	}
	return text
}

// Listen serves each connection with f until the test ends. It closes none, because the
// peer might not read what was sent just before.
func Listen(t testing.TB, f func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f(c)
		}
	}()
	return l.Addr().String()
}

// Nobody returns an address where no server listens.
func Nobody(t testing.TB) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
