package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// quietly shows no progress.
func quietly(string) {}

// TestDoctorLines prints checks for people.
func TestDoctorLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		c              Check
		colours, ascii bool
		want           string
	}{
		{Check{Name: "a b", Level: OK, Text: "5ms"}, false, false, "✓ a b: 5ms\n"},
		{Check{Name: "a", Level: Error, Text: "no", Fix: "do it"}, false, false, "✗ a: no\n  fix: do it\n"},
		{Check{Name: "a", Level: Warning, Text: "soon", Fix: "do it"}, false, false, "! a: soon\n  fix: do it\n"},
		{Check{Name: "a", Level: Skipped, Text: "left out"}, false, false, "- a: left out\n"},
		{Check{Name: "a", Level: OK, Text: "5ms"}, false, true, "+ a: 5ms\n"},
		{Check{Name: "a", Level: Error, Text: "no"}, false, true, "x a: no\n"},
		{Check{Name: "a", Level: OK, Text: "5ms"}, true, false, "\x1b[32m✓\x1b[0m a: 5ms\n"},
		{Check{Name: "a", Level: Error, Text: "no"}, true, false, "\x1b[31m✗\x1b[0m a: no\n"},
	} {
		if got := line(tt.c, tt.colours, tt.ascii); got != tt.want {
			t.Errorf("%+v: got %q; want %q", tt.c, got, tt.want)
		}
	}
}

// TestDoctorJSON: the output is one object with a version.
func TestDoctorJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := &reporter{progress: quietly, out: &b, json: true}
	checks := []Check{{Name: "a", Level: OK, Text: "<5ms>", Figures: figures{"took_ns": 5}}, {Name: "b", Level: Error, Text: "no", Fix: "do it"}}
	for _, c := range checks {
		r.check(c)
	}
	if b.Len() > 0 {
		t.Errorf("before the end there is %q", &b)
	}
	if err := r.end("etcd://h", 70, checks); err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"backend":"etcd://h","status":70,"checks":[{"name":"a","level":"ok","text":"<5ms>","figures":{"took_ns":5}},{"name":"b","level":"error","text":"no","fix":"do it"}]}` + "\n"
	if b.String() != want {
		t.Errorf("got %s; want %s", &b, want)
	}
	b.Reset()
	if err := r.end("file", 0, nil); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("without checks: %q, %v", &b, err)
	}
}

// TestDoctorCannotPrint: an error of printing is returned, so that the exit status is not 0.
func TestDoctorCannotPrint(t *testing.T) {
	t.Parallel()
	broken := errors.New("no room")
	for _, json := range []bool{false, true} {
		var reason error
		r := &reporter{progress: quietly, out: failingWriter{broken}, json: json, broken: func(err error) { reason = err }}
		r.check(Check{Name: "a"})
		if err := r.end("file", 0, nil); !errors.Is(err, broken) {
			t.Errorf("json %v: got %v; want %v", json, err, broken)
		}
		if !errors.Is(reason, broken) {
			t.Errorf("json %v: broken was called with %v; want an error, so that the checks end", json, reason)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestIsUTF8(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE.utf8"}, true},
		{map[string]string{"LANG": "en_US.ISO-8859-1"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_CTYPE": "C"}, false},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, true},
		{map[string]string{"LC_CTYPE": "C.UTF-8", "LC_ALL": "POSIX"}, false},
		{map[string]string{"LANG": "C.UTF-8", "LC_ALL": ""}, true},
	} {
		if got := isUTF8(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: got %v; want %v", tt.env, got, tt.want)
		}
	}
}
