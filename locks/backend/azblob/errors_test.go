package azblob_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// secret is the signature of a SAS token.
const secret = "5ec7e7"

// TestErrors checks what users meet. It sets the environment, so it runs alone.
func TestErrors(t *testing.T) {
	t.Setenv("AZURE_STORAGE_KEY", "")
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2021&sig="+secret)
	for _, name := range []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID"} {
		t.Setenv(name, "")
	}
	s := azblobtest.Start(t)
	at := func(addr string) string { return azblobtest.URL(addr, "p").String() }
	answers := func(status int, code string) string {
		return at(serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if code != "" {
				w.Header().Set("x-ms-error-code", code)
			}
			w.WriteHeader(status)
		}))
	}
	silent := drive.Listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	m := drive.Manner{
		Open: azblob.Open, Options: options("a"), Later: 1500 * time.Millisecond, Secrets: []string{secret},
		Noise: []string{"Get \"", "Head \"", "http://127", "sig="},
	}
	m.Options.ConnectTimeout = time.Second
	for _, tt := range []drive.Trouble{
		{Name: "refused", URL: at("127.0.0.1:1"), Class: locks.ErrUnavailable, Text: "connection refused", Hint: "endpoint="},
		{Name: "no such host", URL: "azblob://account/con?endpoint=https://nowhere.invalid", Class: locks.ErrUnavailable, Text: "nowhere.invalid", Hint: "spelling"},
		{Name: "silent", URL: at(silent), Class: locks.ErrUnavailable, Text: "no answer", Hint: "does not answer", Slow: true},
		{Name: "bad signature", URL: at(s.Addr()), Class: locks.ErrDenied, Text: "HTTP 403"},
		{Name: "no role", URL: answers(403, "AuthorizationPermissionMismatch"), Class: locks.ErrDenied, Text: "AuthorizationPermissionMismatch", Hint: "Storage Blob Data Contributor"},
		{Name: "token ended", URL: answers(403, "AuthenticationFailed"), Class: locks.ErrDenied, Text: "AuthenticationFailed", Hint: "when the token ends"},
		{Name: "no container", URL: answers(404, "ContainerNotFound"), Class: locks.ErrUnavailable, Text: "does not exist", Hint: "az storage container create --auth-mode login --account-name devstoreaccount1 --name locks"},
		{Name: "busy", URL: answers(503, "ServerBusy"), Class: locks.ErrUnavailable, Text: "ServerBusy", Slow: true},
		{Name: "not Azure", URL: answers(404, ""), Class: locks.ErrUnavailable, Text: "something that is not Azure Blob Storage", Hint: "endpoint=", Slow: true},
		{Name: "not TLS", URL: "azblob://account/con?endpoint=" + url.QueryEscape("https://"+s.Addr()), Class: locks.ErrUnavailable, Text: "HTTP response to HTTPS client", Hint: "http://", Slow: true},
	} {
		tt.Test(t, m)
	}
	t.Run("probe", func(t *testing.T) {
		for _, u := range []string{at("127.0.0.1:1"), answers(403, "AuthenticationFailed")} {
			found, err := drive.Open(t, azblob.Open, u, options("a")).(locks.Prober).Probe(drive.Context(t))
			if text := fmt.Sprintf("%+v %v", found, err); err != nil || strings.Contains(text, secret) || found.Servers[0].Error == "" {
				t.Errorf("probe: %s", text)
			}
		}
	})
}
