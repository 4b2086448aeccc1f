package spanner

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannertest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// probe returns what a probe of a store finds.
func probe(t *testing.T, s *store) locks.Servers {
	t.Helper()
	l := caslease.New(s, traits(s.client.settings), locks.Options{Name: "jobs", TTL: time.Minute, ConnectTimeout: realserver.Ready})
	found, err := l.Probe(storetest.Within(t, realserver.Ready))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// finds checks a finding.
func finds(t *testing.T, found locks.Servers, check, level, text, fix string) {
	t.Helper()
	for _, f := range found.Findings {
		if f.Check == check {
			if f.Level != level || !strings.Contains(f.Text, text) || !strings.Contains(f.Fix, fix) {
				t.Errorf("found %+v; want %s, %q, %q", f, level, text, fix)
			}
			return
		}
	}
	t.Errorf("found %+v; want %s", found, check)
}

// TestProbe checks what a probe says of databases of both dialects without problems, and of one
// from which something else deletes rows; and that it leaves nothing.
func TestProbe(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	for _, postgres := range []bool{false, true} {
		d := server.New(postgres)
		s := at(t, d, server.Addr())
		found := probe(t, s)
		if len(found.Findings) > 0 || !strings.Contains(found.Product, "emulator") {
			t.Errorf("found %+v", found)
		}
		one := found.Servers[0]
		if age := one.Time.Sub(one.Ours).Abs(); one.Address != "http://"+server.Addr() || age > one.RTT || one.RTT <= 0 || one.TLS != "" {
			t.Errorf("the server is %+v", one)
		}
		if rows := d.Exec("SELECT name FROM leaderrun_locks"); len(rows) > 0 {
			t.Errorf("the probe has left %q", rows)
		}
	}
	d := server.New(false)
	d.DDL("ALTER TABLE leaderrun_locks ADD ROW DELETION POLICY (OLDER_THAN(created, INTERVAL 1 DAY))")
	finds(t, probe(t, at(t, d, server.Addr())), "deletion policy", locks.LevelWarning, "OLDER_THAN(created", "DROP ROW DELETION POLICY")
	s := at(t, d, front(t, server, func(c *spannertest.Call) ([]byte, error) {
		if strings.Contains(string(c.Request), "row_deletion_policy") {
			return nil, status.Error(codes.PermissionDenied, "no")
		}
		return c.Pass()
	}))
	finds(t, probe(t, s), "deletion policy", locks.LevelWarning, "is unknown", "")
}

// TestProbeUnreachable checks that nothing is said about a database that cannot be asked.
func TestProbeUnreachable(t *testing.T) {
	t.Parallel()
	server := spannertest.Start(t)
	found := probe(t, at(t, server.New(false), "127.0.0.1:1"))
	if len(found.Findings) > 0 || !strings.Contains(found.Servers[0].Error, "connection refused") || found.Servers[0].Class != "unavailable" {
		t.Errorf("found %+v", found)
	}
}

// TestCredentials checks the errors of credentials, none of which shows a secret, and of a
// service whose certificate is not trusted.
func TestCredentials(t *testing.T) {
	answer, code := `{"error":"invalid_grant"}`, http.StatusBadRequest
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(tokens.Close)
	service := httptest.NewUnstartedServer(http.NotFoundHandler())
	service.EnableHTTP2 = true
	service.StartTLS()
	t.Cleanup(service.Close)
	read := func() (*store, error) {
		s := newStore(&settings{project: "p", instance: "i", database: "d", endpoint: service.URL}, realserver.Ready)
		t.Cleanup(func() { _ = s.Close() })
		_, err := s.Read(storetest.Within(t, realserver.Ready), jobs)
		if strings.Contains(err.Error(), "opensesame") {
			t.Errorf("%v shows a secret", err)
		}
		return s, err
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none"))
	s, err := read()
	isKind(t, s, err, causes.Denied, "gcloud auth")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", keyFile(t, tokens.URL))
	s, err = read()
	isKind(t, s, err, causes.Denied, "gcloud auth")
	code = http.StatusServiceUnavailable
	_, err = read()
	isKind(t, s, err, causes.Unsent, "")
	answer, code = `{"access_token":"opensesame","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","expires_in":3600}`, http.StatusOK
	s, err = read()
	isKind(t, s, err, causes.Unreachable, "SSL_CERT_FILE")
}

// keyFile writes credentials that are exchanged for tokens at an address.
func keyFile(t *testing.T, tokenURL string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key.json")
	text := fmt.Sprintf(`{"type":"external_account","audience":"a","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":%q,"credential_source":{"file":%q}}`, tokenURL, file)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSearchTakesTooLong checks a machine whose metadata server does not answer.
func TestSearchTakesTooLong(t *testing.T) {
	t.Parallel()
	s := newStore(&settings{endpoint: "http://127.0.0.1:1"}, realserver.Ready)
	s.client.once.Do(func() {}) // nothing is found
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Read(ctx, jobs)
	isKind(t, s, err, causes.Unsent, "gcloud auth")
}
