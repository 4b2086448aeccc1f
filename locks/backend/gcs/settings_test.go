package gcs

import (
	"net/url"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

func parseText(t *testing.T, rawURL string, env map[string]string) (*settings, error) {
	t.Helper()
	u, err := locks.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return parse(u, func(name string) string { return env[name] })
}

func TestSettings(t *testing.T) {
	t.Parallel()
	type env = map[string]string
	for _, tt := range []struct {
		url  string
		env  env
		want settings
	}{
		{"gcs://my-bucket", nil, settings{bucket: "my-bucket", prefix: "leaderrun"}},
		{"gcs://my_bucket.example.com/a/b/", nil, settings{bucket: "my_bucket.example.com", prefix: "a/b"}},
		{"gcs", env{"LEADERRUN_GCS_BUCKET": "my-bucket"}, settings{bucket: "my-bucket", prefix: "leaderrun"}},
		{"gcs:", env{"LEADERRUN_GCS_BUCKET": "gs://my-bucket/a/b"}, settings{bucket: "my-bucket", prefix: "a/b"}},
		{"gcs:///c", env{"LEADERRUN_GCS_BUCKET": "my-bucket/a"}, settings{bucket: "my-bucket", prefix: "c"}},
		{"gcs://other", env{"LEADERRUN_GCS_BUCKET": "my-bucket/a"}, settings{bucket: "other", prefix: "leaderrun"}},
		{"gcs://my-bucket?userproject=p-1", nil, settings{bucket: "my-bucket", prefix: "leaderrun", userProject: "p-1"}},
		{"gcs://my-bucket", env{"STORAGE_EMULATOR_HOST": "127.0.0.1:9000"}, settings{bucket: "my-bucket", prefix: "leaderrun", endpoint: "http://127.0.0.1:9000"}},
		{"gcs://my-bucket", env{"STORAGE_EMULATOR_HOST": "https://h:1/"}, settings{bucket: "my-bucket", prefix: "leaderrun", endpoint: "https://h:1"}},
		{"gcs://my-bucket?endpoint=https://e", env{"STORAGE_EMULATOR_HOST": "h:1"}, settings{bucket: "my-bucket", prefix: "leaderrun", endpoint: "https://e"}},
	} {
		got, err := parseText(t, tt.url, tt.env)
		if err != nil || *got != tt.want {
			t.Errorf("%s with %v: got %+v, %v; want %+v", tt.url, tt.env, got, err, tt.want)
		}
	}
}

// TestSettingsRefused checks what is refused, and that no error shows a password.
func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]string{
		"gcs:":                     "no bucket is named",
		"gcs:///prefix":            "no bucket is named",
		"gcs:bucket":               "with two slashes",
		"gcs:/bucket":              "with two slashes",
		"gcs://bucket/p#f":         "a part after #",
		"gcs://user@bucket/p":      "cannot have a user",
		"gcs://bucket:80/p":        "cannot have a port",
		"gcs://bucket/p?endpont=x": `did you mean "endpoint"?`,
		"gcs://Bucket":             "invalid bucket name",
		"gcs://b":                  "invalid bucket name",
		"gcs://bucket/a//b":        `has "" between`,
		"gcs://bucket/a/../b":      `has ".." between`,
		"gcs://bucket/a%00b":       "cannot be printed",
		"gcs://bucket/a*b":         "read as patterns",
		"gcs://bucket/%5Ba":        "read as patterns",
		"gcs://bucket/p?endpoint=" + url.QueryEscape("http://u:opensesame@h"): "want the address of a server",
		"gcs://bucket/?endpoint=ftp://h":                                      "want the address of a server",
		"gcs://bucket/?endpoint=h:80":                                         "want the address of a server",
		"gcs://bucket/?endpoint=http://h/storage":                             "want the address of a server",
		"gcs://bucket/" + strings.Repeat("x", 401):                            "at most 400",
	} {
		backendtest.Refuses(t, parse, rawURL, nil, want)
	}
}

// TestObjectNames checks that the longest name of a lock, under the longest prefix, fits
// into the 1024 bytes of an object's name.
func TestObjectNames(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a/", 99) + "aa"
	name = locks.SlotName(name, locks.MaxSlot)
	if n := len(strings.Repeat("x", maxPrefix) + "/" + locks.EscapeName(name) + askSuffix); locks.CheckSlotName(name) != nil || n > 1024 {
		t.Errorf("an object's name of %d bytes", n)
	}
}

// TestMetadataFits checks that the largest state and the largest record together fit into
// the 8 KiB of custom metadata that the service keeps, and leave 256 bytes for others. So
// does the largest request, in its own object.
func TestMetadataFits(t *testing.T) {
	t.Parallel()
	text := caslease.EncodeText(make([]byte, locks.MaxRecord))
	if n := caslease.MaxState + len(stateKey) + len(text) + len(recordKey); n > 8<<10-256 {
		t.Errorf("metadata of %d bytes", n)
	}
	if n := caslease.MaxRequest + len(askKey); n > 8<<10 {
		t.Errorf("a request of %d bytes", n)
	}
}

// TestObjectsApart checks that the objects of locks, of slots, and of requests have
// different names, under any prefix.
func TestObjectsApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, prefix := range []string{"p", "p/jobs", "p/jobs~ask", "p/jobs#3", "p/jobs%233", "p/jobs%2Fask"} {
		for _, name := range []string{"jobs", "jobs/ask", "ask", "jobs-ask", "jobs/3", "jobs:3", "3", locks.SlotName("jobs", 0), locks.SlotName("jobs", 3), locks.SlotName("jobs/ask", 3), locks.SlotName("jobs", 33)} {
			s := &settings{bucket: "b", prefix: prefix}
			for _, object := range []string{s.object(caslease.Key{Name: name}), s.object(caslease.Key{Name: name, Part: caslease.Request})} {
				what := prefix + " " + name
				if before := seen[object]; before != "" {
					t.Errorf("%s is the name of an object of %s and of %s", object, before, what)
				}
				seen[object] = what
			}
		}
	}
}
