package drive

import (
	"crypto/x509"
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
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
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

// A Manner is what all errors of a backend have in common.
type Manner struct {
	Open    locks.Opener
	Options locks.Options
	Later   time.Duration // how much later than the connect timeout an error may come
	Secrets []string      // no text contains them
	Noise   []string      // what libraries say; no message contains it
}

// Test acquires a lock, with try and without, and expects the Trouble: the error has its
// class and no other, one line that names the first server, and a hint; and it comes soon,
// or not much later than the connect timeout.
func (x Trouble) Test(t *testing.T, m Manner) {
	_, _ = x509.SystemCertPool() // takes long the first time, which is not the backend's fault
	for _, try := range []bool{true, false} {
		t.Run(fmt.Sprintf("%s/try=%t", x.Name, try), func(t *testing.T) {
			t.Parallel()
			trial.Steady(t, func(tb testing.TB, scale int) { x.check(tb, m, try, scale) })
		})
	}
}

func (x Trouble) check(t testing.TB, m Manner, try bool, scale int) {
	o := m.Options
	o.ConnectTimeout *= time.Duration(scale)
	var log Log
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := Open(t, m.Open, x.URL, o)
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
	for _, s := range m.Secrets {
		if strings.Contains(all, s) {
			t.Errorf("%q is shown: %s", s, all)
		}
	}
	for _, s := range m.Noise {
		if strings.Contains(text, s) {
			t.Errorf("the message has %q: %s", s, text)
		}
	}
	limit := o.ConnectTimeout / 2
	if x.Slow {
		limit = o.ConnectTimeout + time.Duration(scale)*m.Later
	}
	if took > limit {
		t.Errorf("the answer took %v, want at most %v", took, limit)
	}
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
