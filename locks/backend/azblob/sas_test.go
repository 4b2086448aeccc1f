package azblob_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// finding returns what a probe has found about something.
func finding(t testing.TB, l locks.Lock, check string) (f locks.Finding) {
	t.Helper()
	s, err := l.(locks.Prober).Probe(drive.Context(t))
	if err != nil {
		t.Error(err)
	}
	for _, one := range s.Findings {
		if one.Check == check {
			f = one
		}
	}
	return f
}

// testTokenInFile: a SAS token in a file is read for each request, so that a lease outlives it.
func testTokenInFile(t *testing.T, s *site) {
	file := filepath.Join(t.TempDir(), "sas")
	write := func(permissions sas.ContainerPermissions, ends time.Time) {
		signed, err := s.GetSASURL(permissions, ends, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, token, _ := strings.Cut(signed, "?")
		if err := os.WriteFile(file, []byte("?"+token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, hour := sas.ContainerPermissions{Read: true, Create: true, Write: true, List: true, Delete: true}, time.Now().Add(time.Hour)
	write(all, hour)
	u := s.url(s.Addr())
	u.RawQuery += "&sas-file=" + url.QueryEscape(file)
	l := open(t, u, options("a"))
	drive.Hold(t, l)
	if f := finding(t, l, "token"); f.Level != locks.LevelOK || !strings.Contains(f.Text, hour.UTC().Format("2006-01-02T15:04")) {
		t.Errorf("found %+v", f)
	}
	write(all, time.Now().Add(-time.Hour))
	if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrDenied) {
		t.Errorf("with a token that has ended: got %v", err)
	}
	if f := finding(t, l, "token"); f.Level != locks.LevelWarning {
		t.Errorf("found %+v", f)
	}
	write(all, hour.Add(time.Hour))
	drive.Renew(t, l)
	if page, _, err := l.(locks.Lister).List(drive.Context(t), ""); err != nil || len(page) != 1 {
		t.Errorf("listed %+v, %v", page, err)
	}
	drive.Release(t, l)
}

// testArchived: a probe names the tier in which nobody can take the lock.
func testArchived(t *testing.T, s *site) {
	s.upload(t, unclaimed())
	if _, err := s.NewBlobClient(s.blob()).SetTier(t.Context(), blob.AccessTierArchive, nil); err != nil {
		t.Fatal(err)
	}
	o := options("a")
	o.Name = "another" // doctor's is
	if f := finding(t, open(t, s.url(s.Addr()), o), "tier"); f.Level != locks.LevelError || !strings.Contains(f.Text, "archive tier") {
		t.Errorf("found %+v", f)
	}
}

// testReplicated: a probe warns of an account that can fail over to another region, or may.
func testReplicated(t *testing.T, s *site) {
	for sku, level := range map[string]string{"Standard_LRS": locks.LevelOK, "Standard_RAGRS": locks.LevelWarning, "Standard_GZRS": locks.LevelWarning, "": locks.LevelWarning} {
		pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Addr()})
		pass.ModifyResponse = func(r *http.Response) error {
			r.Header.Del("x-ms-sku-name")
			if sku != "" {
				r.Header.Set("x-ms-sku-name", sku)
			}
			return nil
		}
		if f := finding(t, open(t, s.url(serve(t, pass.ServeHTTP)), options("a")), "replication"); f.Level != level || !strings.Contains(f.Text, sku) {
			t.Errorf("%q: found %+v", sku, f)
		}
	}
}

// TestTokenEndsSoon: a run warns if its token ends soon, and nothing can replace it.
func TestTokenEndsSoon(t *testing.T) {
	for end, want := range map[string]bool{
		time.Now().Add(time.Minute).UTC().Format(time.RFC3339): true, "2000-01-01": true, "2000-01-01T00:00Z": true,
		time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339): false, "": false, "x": false,
	} {
		t.Setenv("AZURE_STORAGE_KEY", "")
		t.Setenv("AZURE_STORAGE_SAS_TOKEN", "sig=s&se="+url.QueryEscape(end))
		var log drive.Log
		o := options("a")
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		drive.Open(t, azblob.Open, "azblob://account/container", o)
		if got := strings.Contains(log.String(), "the SAS token ends soon"); got != want {
			t.Errorf("%q: warned: %v\n%s", end, got, log.String())
		}
	}
}
