package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/bench/conditions"
	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/locks/backend"
)

var update = flag.Bool("update", false, "rewrite testdata/RESULTS.md")

func millis(all ...int) (d []time.Duration) {
	for _, n := range all {
		d = append(d, time.Duration(n)*time.Millisecond)
	}
	return d
}

// made returns fictional results; those of etcd are in two parts.
func made() (Header, []Row) {
	run := conditions.Run{Commit: "0123456789ab", Date: "2026-02-03", Machine: "a processor, 2 cores, 4 GiB; Linux 6.1.0; go1.26.8", Before: "0.10 0.20 0.30", After: "9.00 8.00 7.00"}
	h := Header{Run: run, Took: 61*time.Minute + 20*time.Second, TTL: 5 * time.Second, Others: map[string]bool{"fedcba987654, on 2026-02-02, a processor, 4 cores": true},
		Backends: []*backend.Info{{Scheme: "etcd", Folder: "etcd"}, {Scheme: "file", Folder: "file"}, {Scheme: "gossip", Folder: "gossip", ExcludesNobody: true}, {Scheme: "mysql", Folder: "mysql"}, {Scheme: "zk", Folder: "zookeeper"}},
		Lacks:    map[string]error{"limit of tasks": errors.New("open cgroup.procs:\npermission denied"), "disk": errors.New("mount: operation not permitted")},
		Excluded: "- A frozen machine: nobody can kill what does not run. This is what tokens are for.\n"}
	return h, []Row{
		{Backend: "zookeeper", Mode: "fair", Subject: Subject, Took: time.Hour, Seed: 7, Pressure: 0.123, Figures: oracle.Figures{Terms: 700, Faults: map[string]int{"blackhole": 20, "kill leaderrun": 4},
			Gap: oracle.Least{Of: 699, Value: 1234567}, Slack: oracle.Least{Of: 650, Value: 812345678}, HandOvers: millis(3, 4, 5)}},
		{Backend: "etcd", Subject: "etcdctl lock", Wrong: 5, Figures: oracle.Figures{Terms: 400, Faults: map[string]int{"blackhole": 11}, Overlaps: 3, Orphans: 2,
			Gap: oracle.Least{Of: 399, Value: -2 * time.Second}, Takeovers: millis(900)}},
		{Backend: "etcd", Subject: Subject, Figures: oracle.Figures{Terms: 1000, Faults: map[string]int{"blackhole": 12, "a|b": 1},
			Gap: oracle.Least{Of: 999, Value: 2 * time.Millisecond}, Slack: oracle.Least{Of: 990, Value: time.Second},
			Late: oracle.Most{Of: 2, Value: 3 * time.Millisecond}, HandOvers: millis(2, 3), Takeovers: millis(1500, 4900)}},
		{Backend: "etcd", Subject: Subject, Figures: oracle.Figures{Terms: 1, Faults: map[string]int{"restart": 1}, Late: oracle.Most{Of: 1, Value: 9 * time.Millisecond}, Takeovers: millis(2000)}},
		{Backend: "mysql", Mode: "trusting", Subject: Subject + ", excludes nobody", Wrong: 1, Figures: oracle.Figures{Terms: 9, Overlaps: 1}},
		{Backend: "gossip", Mode: "the oldest", Subject: Subject + ", excludes nobody", Figures: oracle.Figures{Terms: 2}},
		{Backend: "file", Subject: Subject, Figures: oracle.Figures{Terms: 1}},
	}
}

// TestWrite compares the page with one that a person has checked.
func TestWrite(t *testing.T) {
	t.Parallel()
	const golden = "testdata/RESULTS.md"
	var got, again bytes.Buffer
	h, rows := made()
	if err := Write(&got, h, rows); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s", got.Bytes())
	}
	slices.Reverse(rows)
	if err := Write(&again, h, rows); err != nil || !bytes.Equal(again.Bytes(), want) {
		t.Errorf("in another order: got\n%s, %v", again.Bytes(), err)
	}
}

// A broken cannot be written to.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteFails(t *testing.T) {
	t.Parallel()
	if err := Write(broken{}, Header{}, nil); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}
