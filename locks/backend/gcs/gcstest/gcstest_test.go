package gcstest

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ask sends one request over the network.
func ask(t *testing.T, s *Server, method, path, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+s.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get("Date") == "" {
		t.Error("the answer has no Date")
	}
	return resp.StatusCode, string(bytes.TrimSpace(b))
}

// TestPreconditions checks that the emulator refuses stale writes. If it did not, the
// tests of the lock would prove nothing.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	const upload, object = "/upload/storage/v1/b/" + Bucket + "/o?uploadType=media&name=x", "/storage/v1/b/" + Bucket + "/o/x"
	s := Start(t)
	if code, answer := ask(t, s, "POST", upload+"&ifGenerationMatch=0", ""); code != 200 || !strings.Contains(answer, `"crc32c":"AAAAAA=="`) {
		t.Fatalf("create: %d %s", code, answer)
	}
	before, _ := s.Object("x")
	generation := "?ifGenerationMatch=" + strconv.FormatInt(before.Generation, 10)
	const change = `{"metadata":{"k":"v"}}`
	for _, tt := range []struct {
		name, method, path string
		want               int
	}{
		{"create what exists", "POST", upload + "&ifGenerationMatch=0", 412},
		{"patch another generation", "PATCH", object + "?ifGenerationMatch=1&ifMetagenerationMatch=1", 412},
		{"patch another metageneration", "PATCH", object + generation + "&ifMetagenerationMatch=2", 412},
		{"patch what is", "PATCH", object + generation + "&ifMetagenerationMatch=1", 200},
		{"patch it again", "PATCH", object + generation + "&ifMetagenerationMatch=1", 412},
		{"patch what it is already", "PATCH", object + generation + "&ifMetagenerationMatch=2", 200},
		{"patch what is not there", "PATCH", object + "y" + generation, 404},
		{"delete another metageneration", "DELETE", object + "?ifMetagenerationMatch=1", 412},
		{"read in no bucket", "GET", strings.Replace(object, Bucket, "none", 1), 404},
		{"create in no bucket", "POST", strings.Replace(upload, Bucket, "none", 1), 404},
	} {
		if code, answer := ask(t, s, tt.method, tt.path, change); code != tt.want {
			t.Errorf("%s: %d %s; want %d", tt.name, code, answer, tt.want)
		}
	}
	after, _ := s.Object("x")
	if after.Metageneration != 2 || after.Metadata["k"] != "v" || after.Generation != before.Generation || !after.Created.Equal(before.Created) || after.Updated.Before(before.Updated) {
		t.Errorf("before: %+v, after one change: %+v", before, after)
	}
}

// TestUpdated checks that a change of metadata moves "updated", as with the service, and
// that a write without a change does not, because the service does not promise that it
// does.
func TestUpdated(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.SetMetadata("x", map[string]string{"k": "v"})
	s.Age("x", time.Hour)
	before, _ := s.Object("x")
	s.SetMetadata("x", map[string]string{"k": "v"})
	if same, _ := s.Object("x"); !same.Updated.Equal(before.Updated) || same.Metageneration != before.Metageneration {
		t.Errorf("a write that changes nothing made of %+v %+v", before, same)
	}
	for _, value := range []string{"w", "x"} {
		s.SetMetadata("x", map[string]string{"k": value})
		after, _ := s.Object("x")
		if d := after.Updated.Sub(before.Updated); d < time.Millisecond || value == "w" && d < time.Hour {
			t.Errorf("updated moved by %v", d)
		}
		before = after
	}
}
