package mysql

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/badserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// TestServerKey logs in at a server without TLS that wants the password, encrypted with its own
// key, which anybody could give. It gets the password only if the option file says so.
func TestServerKey(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	otherDER, _ := x509.MarshalPKIXPublicKey(&other.PublicKey)
	known, others := write("known.pem", string(public)), write("other.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: otherDER})))
	for name, tt := range map[string]struct {
		options, want, hint string
	}{
		"default":         {"", "", hintKey},
		"off":             {"get-server-public-key=0", "", hintKey},
		"from the server": {"get_server_public_key", "hunter2", hintLogin},
		"from a file":     {"server-public-key-path=" + known, "hunter2", hintLogin},
		"of another":      {"get-server-public-key=1\nserver-public-key-path=" + others, "", hintLogin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 9)
			server := badserver.Start(t, badserver.MySQLKey(key, public, func(password string) { got <- password }))
			s, err := settingsOf("mysql://u:hunter2@"+server+"/d?defaults-file="+write(strings.ReplaceAll(name, " ", "-"), "[client]\n"+tt.options+"\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			st := newStore(s, 5*time.Second)
			defer st.Close()
			_, err = st.Read(storetest.Within(t, 20*time.Second), caslease.Key{Name: "x"})
			if f := st.Fault(err); f.Kind != causes.Denied || f.Hint != tt.hint {
				t.Errorf("%+v, from %v", f, err)
			}
			select {
			case password := <-got:
				if password != tt.want {
					t.Errorf("the server has the password %q; want %q", password, tt.want)
				}
			default:
				if tt.want != "" {
					t.Error("the server was not given the password")
				}
			}
		})
	}
	for file, want := range map[string]string{write("none.pem", "x"): "no public key", filepath.Join(dir, "gone"): "no such file"} {
		_, err := settingsOf("mysql://u@h/d?defaults-file="+write("bad.cnf", "[client]\nserver-public-key-path="+file), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", file, err, want)
		}
	}
}

// TestServerKeyWarning checks when a run warns that anybody could ask for the password.
func TestServerKeyWarning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for address, want := range map[string]bool{
		"mysql://u:p@192.0.2.1/d?":             true,
		"mysql://u:p@192.0.2.1/d?tls=false&":   true,
		"mysql://u:p@192.0.2.1/d?tls=true&":    false,
		"mysql://u@192.0.2.1/d?":               false,
		"mysql://u:p@127.0.0.1/d?":             false,
		"mysql://u:p@/d?socket=/run/s&":        false,
		"mysql://u:p@127.0.0.1,192.0.2.1:1/d?": true,
	} {
		file := filepath.Join(dir, "my.cnf")
		if err := os.WriteFile(file, []byte("[client]\nget-server-public-key\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := locks.Parse(address + "defaults-file=" + file)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		l, err := Open(t.Context(), u, locks.Options{Name: "x", Logger: slog.New(slog.NewTextHandler(&text, nil))})
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if got := strings.Contains(text.String(), "get-server-public-key"); got != want {
			t.Errorf("%s: logged %q", address, text.String())
		}
	}
}
