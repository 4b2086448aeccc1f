package gcs_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func probe(t *testing.T, s *gcstest.Server) locks.Servers {
	t.Helper()
	before := len(s.Objects(""))
	got, err := at(t, s, options("operator")).(locks.Prober).Probe(drive.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Findings {
		if (f.Level == "ok") != (f.Fix == "") {
			t.Errorf("want a fix, except at level ok: %+v", f)
		}
	}
	if after := len(s.Objects("")); after != before {
		t.Errorf("%d objects before, %d after", before, after)
	}
	return got
}

// found checks that there is a finding about check with this level, whose text has these
// words. If level is "none", there may be no finding.
func found(t *testing.T, s locks.Servers, check, level string, words ...string) {
	t.Helper()
	i := slices.IndexFunc(s.Findings, func(f locks.Finding) bool { return f.Check == check })
	switch {
	case i < 0 && level == "none":
	case i < 0 || s.Findings[i].Level != level:
		t.Errorf("no %s about %s in %+v", level, check, s.Findings)
	default:
		for _, w := range words {
			if !strings.Contains(s.Findings[i].Text, w) {
				t.Errorf("%q does not mention %q", s.Findings[i].Text, w)
			}
		}
	}
}

// answering makes the emulator send these answers, by verb: it does not know all that the
// service does.
func answering(s *gcstest.Server, answers map[string]string) {
	s.Fault(func(r gcstest.Request) gcstest.Fault { return gcstest.Fault{Answer: answers[r.Verb]} })
}

// TestProbe probes a bucket without problems.
func TestProbe(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	answering(s, map[string]string{"bucket": `{"location":"EUROPE-WEST1","storageClass":"STANDARD","versioning":{"enabled":true}}`})
	got := probe(t, s)
	one := got.Servers[0]
	if want := "http://" + s.Addr() + "/locks"; len(got.Servers) != 1 || one.Address != want || one.RTT <= 0 || one.Error != "" || one.TLS != "" || !one.Expires.IsZero() {
		t.Errorf("got %+v", got)
	}
	if apart := one.Time.Sub(one.Ours).Abs(); apart > 2*time.Second || time.Since(one.Ours) > drive.Patience {
		t.Errorf("their clock %v, ours %v", one.Time, one.Ours)
	}
	if !strings.Contains(got.Product, "emulator") || got.User != "anonymous" {
		t.Errorf("got %+v", got)
	}
	if len(got.Findings) > 0 {
		t.Errorf("found %+v", got.Findings)
	}
}

// TestProbeBucket checks the findings about rules that delete objects, and about rules that the
// account may not read.
func TestProbeBucket(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ bucket, level, word string }{
		{`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30}}]}}`, "error", "held"},
		{`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30,"matchesPrefix":["x","p/j"]}}]}}`, "error", ""},
		{`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30,"matchesPrefix":["p2/","x"]}}]}}`, "none", ""},
		{`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30,"isLive":false}}]}}`, "none", ""},
		{`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"daysSinceNoncurrentTime":3}}]}}`, "none", ""},
		{`{"lifecycle":{"rule":[{"action":{"type":"SetStorageClass","storageClass":"NEARLINE"},"condition":{"age":30}}]}}`, "none", ""},
		{`{"lifecycle":"?"}`, "warning", "cannot be checked"},
	} {
		s := gcstest.Start(t)
		answering(s, map[string]string{"bucket": tt.bucket})
		found(t, probe(t, s), "lifecycle", tt.level, tt.word)
	}
	s := gcstest.Start(t)
	s.Next("bucket", gcstest.Fault{Status: 403, Reason: "forbidden", Message: "a@example.com does not have storage.buckets.get access"})
	found(t, probe(t, s), "lifecycle", "warning", "storage.buckets.get")
}

// TestProbeLifecycle checks that a rule that deletes objects matters only if a lock's
// object can meet its conditions. A condition that leaderrun does not know is a warning.
func TestProbeLifecycle(t *testing.T) {
	t.Parallel()
	for condition, level := range map[string]string{
		`"matchesSuffix":[".tmp"]`:                             "warning", // a lock may be called so
		`"matchesSuffix":["~ask"]`:                             "warning",
		`"matchesSuffix":["p/nightly","/x"]`:                   "warning",
		`"matchesSuffix":["q/nightly"," x","~","x~asked","é"]`: "none",
		`"matchesPrefix":["p/"],"matchesSuffix":["+"]`:         "none",
		`"matchesStorageClass":["NEARLINE","ARCHIVE"]`:         "none",
		`"matchesStorageClass":["STANDARD"]`:                   "error",
		`"matchesStorageClass":["REGIONAL"]`:                   "error",
		`"sizeAboveBytes":"0"`:                                 "none",
		`"sizeBelowBytes":"10"`:                                "error",
		`"daysSinceNoncurrentTime":0`:                          "none",
		`"numNewerVersions":0`:                                 "error",
		`"numNewerVersions":1`:                                 "none",
		`"isLive":true`:                                        "error",
		`"daysSinceCustomTime":0`:                              "none",
		`"matchesPattern":"x.*"`:                               "warning",
		`"matchesMoon":{"phase":["full"]}`:                     "warning",
		`"matchesMoon":["full"],"matchesPrefix":["q"]`:         "none",
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			answering(s, map[string]string{"bucket": `{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30,` + condition + `}}]}}`})
			if level == "none" {
				found(t, probe(t, s), "lifecycle", level)
				return
			}
			found(t, probe(t, s), "lifecycle", level, strings.SplitAfter(condition, ":")[0])
		})
	}
}

// TestProbeMovedThenDeleted has one rule that moves objects to a class, a second that
// moves them on, and a third that deletes them there, in another order.
func TestProbeMovedThenDeleted(t *testing.T) {
	t.Parallel()
	const toNearline, toArchive, remove = `{"action":{"type":"SetStorageClass","storageClass":"NEARLINE"},"condition":{"age":30,"matchesPrefix":["%s"]}}`,
		`{"action":{"type":"SetStorageClass","storageClass":"ARCHIVE"},"condition":{"age":60,"matchesStorageClass":["NEARLINE"]}}`,
		`{"action":{"type":"Delete"},"condition":{"age":90,"matchesStorageClass":["ARCHIVE"]}}`
	for prefix, level := range map[string]string{"p": "error", "q": "none"} {
		s := gcstest.Start(t)
		answering(s, map[string]string{"bucket": `{"lifecycle":{"rule":[` + remove + `,` + toArchive + `,` + strings.Replace(toNearline, "%s", prefix, 1) + `]}}`})
		found(t, probe(t, s), "lifecycle", level)
	}
}

// TestStorageClass checks that objects do not take the bucket's class, which may cost more.
func TestStorageClass(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	drive.Hold(t, l)
	if err := l.(locks.Asker).Ask(drive.Context(t), 1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	creates := 0
	for _, r := range s.Requests() {
		if r.Verb != "create" {
			continue
		}
		if creates++; !strings.Contains(string(r.Body), `"storageClass":"STANDARD"`) {
			t.Errorf("%s", r.Body)
		}
	}
	if creates != 2 {
		t.Errorf("%d objects were made; want 2", creates)
	}
}

// TestProbeFails checks that problems with the bucket are findings, and not errors.
func TestProbeFails(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	s.Fault(func(gcstest.Request) gcstest.Fault {
		return gcstest.Fault{Status: 403, Reason: "forbidden", Message: "a@example.com does not have storage.objects.get access"}
	})
	got := probe(t, s)
	if one := got.Servers[0]; one.Class != "denied" || !strings.Contains(one.Error, "storage.objects.get") || one.RTT != 0 {
		t.Errorf("got %+v", one)
	}
	s.Fault(func(gcstest.Request) gcstest.Fault {
		return gcstest.Fault{Header: func(h http.Header) { h.Set("Age", "1") }}
	})
	got = probe(t, s)
	if one := got.Servers[0]; !one.Time.IsZero() || one.RTT <= 0 {
		t.Errorf("with a cache on the way: %+v", one)
	}
	s.Stop()
	l := at(t, s, options("operator"))
	none, err := l.(locks.Prober).Probe(drive.Context(t))
	if err != nil || none.Servers[0].Class != "unavailable" {
		t.Errorf("without a server: %+v, %v", none, err)
	}
}
