package metrics

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain fails if a goroutine outlives a run.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// TestInputThatMakesNoSense checks that invalid input ends the program, and that the file
// then says that nobody leads.
func TestInputThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"no JSON":     "open\n",
		"not opened":  `{"alive":true}` + "\n",
		"a long line": `{"open":{"lock":"` + strings.Repeat("x", maxLine) + "\n",
	} {
		if err := export(strings.NewReader(in), slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := export(strings.NewReader(""), slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("without input: %v", err)
	}
	file := filepath.Join(t.TempDir(), "x.prom")
	whole := input(t, file, "a", 0)
	torn := whole[:strings.Index(whole, `"exited"`)]
	if err := export(strings.NewReader(torn), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("half a line: no error")
	}
	got := parsed(t, file)
	if terms, leads := valueIn(got, "leaderrun_terms_total"), valueIn(got, "leaderrun_is_leader"); terms != 1 || leads != 0 {
		t.Errorf("%v terms, is_leader is %v", terms, leads)
	}
}

// TestFileIsWrittenAtTransitions checks that changes are written, but not one by one.
func TestFileIsWrittenAtTransitions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.prom")
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- export(r, slog.New(slog.DiscardHandler)) }()
	in := input(t, file, "a", 0)
	_, _ = io.WriteString(w, in[:strings.Index(in, `{"at":`+regexp.MustCompile(`"at":(\d+),"event":{[^{}]*"exited"`).FindStringSubmatch(in)[1])])
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if strings.Contains(string(text), `leaderrun_job_runs_total{lock="a"} 1`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the file has %s", text)
		}
	}
	_ = w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAddressInUse: an address in use is a warning, and everything else works.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	file := filepath.Join(t.TempDir(), "x.prom")
	in := strings.Replace(input(t, file, "a", 0), `"open":{`, `"open":{"listen":"`+l.Addr().String()+`",`, 1)
	if log := exported(t, in); !strings.Contains(log, `"level":"WARN","msg":"metrics are not served"`) {
		t.Errorf("logged %s", log)
	}
	if v := valueIn(parsed(t, file), "leaderrun_terms_total"); v != 1 {
		t.Errorf("%v terms in the file, want 1", v)
	}
}

// TestServes makes requests over a real connection, until the input ends.
func TestServes(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	log := &syncBuffer{found: make(chan string, 1)}
	done := make(chan error, 1)
	go func() { done <- export(r, slog.New(slog.NewJSONHandler(log, nil))) }()
	_, _ = io.WriteString(w, strings.Replace(input(t, "", "a", -1), `"open":{`, `"open":{"listen":"127.0.0.1:0",`, 1))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	answer, err := client.Get("http://" + <-log.found + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("got %s", answer.Status)
	}
	_ = w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A syncBuffer finds the address in a log.
type syncBuffer struct{ found chan string }

func (b *syncBuffer) Write(p []byte) (int, error) {
	if m := regexp.MustCompile(`"addr":"([^"]+)"`).FindSubmatch(bytes.TrimSpace(p)); m != nil {
		b.found <- string(m[1])
	}
	return len(p), nil
}
