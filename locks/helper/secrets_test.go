package helper

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// An echo is a backend whose server repeats what we have sent.
type echo struct {
	locks.Lock
	variables []string
	sent      string
	log       func(what string, args ...any)
}

func (e *echo) SecretEnv() []string   { return e.variables }
func (e *echo) SentSecrets() []string { return []string{"sent-sesame"} }

func (e *echo) Acquire(context.Context, bool) (locks.Grant, error) {
	e.log("refused", "err", errors.New(e.sent), "text", e.sent)
	return locks.Grant{}, &locks.Error{Op: "acquire", Backend: "fake", Class: locks.ErrDenied, Err: errors.New(e.sent), Hint: e.sent}
}

func (e *echo) Probe(context.Context) (locks.Servers, error) {
	return locks.Servers{Servers: []locks.Server{{Address: "h", Error: e.sent}}, Findings: []locks.Finding{{Check: "c", Level: "error", Text: e.sent}}}, nil
}

func (e *echo) Inspect(context.Context) (locks.State, error) {
	return locks.State{Details: []string{e.sent}}, nil
}

func (e *echo) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{locks.CanInspect, locks.CanProbe}, nil
}

// TestLoggedDurations checks that durations reach the log as people write them.
func TestLoggedDurations(t *testing.T) {
	t.Parallel()
	var helpers strings.Builder
	newServer("fake", openFake, io.Discard, &helpers).log.Warn("news", "ttl", 15*time.Second)
	var all records
	newForwarder("fake", all.logger(), plain).forward(strings.NewReader(helpers.String()))
	if want := "ttl=15s"; !strings.Contains(all.last(), want) {
		t.Errorf("logged %q; want %s", all.last(), want)
	}
}

// TestEchoedSecrets: what a server repeats of our credentials is in nothing that a helper
// says, wherever they come from and however they were sent.
func TestEchoedSecrets(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("FAKE_PASSWORD", "env-sesame")
	t.Setenv("FAKE_AUTH", "alice:auth-sesame")
	t.Setenv("FAKE_USER", "spoken")                     // the name alone is not secret
	t.Setenv("FAKE_DIGEST", "digest:bob:digest-sesame") // as ZooKeeper's
	t.Setenv("FAKE_CONNECTION", "Name=n;AccountKey=key-sesame==;SharedAccessSignature=sv=1&sig=sas-sesame")
	t.Setenv("FAKE_FILE", file("pgpass", "h:1:d:u:pgpass-sesame\n"))
	at := "fake://u:url%2Fsesame@h?password-file=" + url.QueryEscape(file("password", "file-sesame\n"))
	sent := []string{
		"env-sesame", "auth-sesame", "digest-sesame", base64.StdEncoding.EncodeToString([]byte("alice:auth-sesame")), "key-sesame==", "sas-sesame", "pgpass-sesame",
		"url/sesame", "url%2Fsesame", "file-sesame", "sent-sesame", "Authorization: Bearer fetched-sesame\r", "X: Basic other-sesame",
	}
	open := func(_ context.Context, _ *url.URL, o locks.Options) (locks.Lock, error) {
		return &echo{
			variables: []string{"FAKE_PASSWORD", "FAKE_AUTH", "FAKE_USER", "FAKE_DIGEST", "FAKE_CONNECTION", "FAKE_FILE"}, sent: "you sent " + strings.Join(sent, " and ") + " to h, spoken",
			log: func(what string, args ...any) { o.Logger.Warn(what, args...) },
		}, nil
	}
	in, core := io.Pipe()
	fromServer, out := io.Pipe()
	var log strings.Builder
	done := make(chan error, 1)
	go func() { done <- newServer("fake", open, out, &log).serve(in, "v1") }()
	answers := bufio.NewScanner(fromServer)
	said := ""
	for _, line := range []string{
		"", strings.Replace(openLine, "fake:", at, 1), `{"id":2,"method":"acquire"}`, `{"id":3,"method":"probe"}`, `{"id":4,"method":"inspect"}`,
	} {
		if line != "" {
			_, _ = fmt.Fprintln(core, line)
		}
		if !answers.Scan() {
			t.Fatal("no answer")
		}
		said += answers.Text() + "\n"
	}
	_ = core.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{said, log.String()} {
		if strings.Contains(text, "sesame") || strings.Contains(text, sent[3]) {
			t.Errorf("got %s", text)
		}
		if !strings.Contains(text, "you sent xxxxx and") || !strings.Contains(text, "to h, spoken") {
			t.Errorf("got %s, want the rest of the text", text)
		}
	}
	for _, id := range []string{`"id":2,"error"`, `"id":3,"result"`, `"id":4,"result"`} {
		if !strings.Contains(said, id) {
			t.Errorf("got %s, want %s", said, id)
		}
	}
}
