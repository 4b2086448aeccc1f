package kubernetes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// electionTTL is the lease of locks and electors here, on a busy machine.
const electionTTL = 3 * time.Second

// An elector is a program that takes part in client-go's leader election.
type elector struct {
	*exec.Cmd
	said <-chan string
}

// elect starts an elector for the Lease of a lock.
func elect(t *testing.T, u *url.URL, name, identity string) *elector {
	t.Helper()
	cmd := exec.Command(kubetest.Elector(t), u.Query().Get("kubeconfig"), path.Base(u.Path), name, identity, fmt.Sprint(electionTTL.Seconds()))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 100)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			word, _, _ := strings.Cut(lines.Text(), " ")
			said <- word
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &elector{cmd, said}
}

func (e *elector) says(t *testing.T, want string) {
	t.Helper()
	if got := drive.Within(t, drive.Patience, e.said); got != want {
		t.Fatalf("the elector says %q; want %q", got, want)
	}
}

func (e *elector) isSilent(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case said := <-e.said:
		t.Fatalf("the elector says %q", said)
	case <-time.After(d):
	}
}

func electionOptions(holder string) locks.Options {
	return locks.Options{Name: "controller", Holder: holder, TTL: electionTTL, ConnectTimeout: 2 * drive.Patience}
}

// testElectorExcluded checks that an elector waits while a lock is held, and gets the Lease after
// the release at once, and after the death of the holder when its lease has ended.
func testElectorExcluded(t *testing.T, r *rig) {
	for what, end := range map[string]func(t *testing.T, l locks.Lock){
		"release": func(t *testing.T, l locks.Lock) { drive.Release(t, l) },
		"death":   func(t *testing.T, l locks.Lock) { _ = l.Close() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			u := r.server.URL(r.server.Addr(), r.server.Namespace(), kubetest.AsAdmin())
			l := drive.Open(t, Open, u.String(), electionOptions("ours"))
			drive.Hold(t, l)
			e := elect(t, u, "controller", "theirs")
			var last time.Time
			for range 20 {
				last = time.Now()
				drive.Renew(t, l)
				e.isSilent(t, electionTTL/10)
			}
			end(t, l)
			e.says(t, "leads")
			if took := time.Since(last); what == "death" && took < electionTTL {
				t.Errorf("the elector leads %v after the last renewal, before the lease of %v has ended", took, electionTTL)
			}
		})
	}
}

// testElectorRespected checks that a run waits while an elector leads, that it cannot end that
// term, and that tokens rise over it.
func testElectorRespected(t *testing.T, r *rig) {
	for what, sig := range map[string]syscall.Signal{"release": syscall.SIGTERM, "death": syscall.SIGKILL} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			u := r.server.URL(r.server.Addr(), r.server.Namespace(), kubetest.AsAdmin())
			first := drive.Open(t, Open, u.String(), electionOptions("first"))
			before := drive.Hold(t, first)
			drive.Release(t, first)
			e := elect(t, u, "controller", "theirs")
			e.says(t, "leads")
			l, result := drive.Campaign(drive.Context(t), t, Open, u.String(), electionOptions("ours"))
			s := drive.Inspect(t, l.(locks.Inspector))
			if !s.Held || s.Holder != "theirs" || s.Token <= before.Token {
				t.Errorf("while the elector leads, the lock is %+v after %+v", s.Status, before)
			}
			if err := l.(locks.Breaker).Break(drive.Context(t), s.Token); err == nil || !strings.Contains(err.Error(), errElected.Error()) {
				t.Errorf("break: %v; want that it is refused", err)
			}
			e.isSilent(t, 2*electionTTL)
			select {
			case got := <-result:
				t.Fatalf("while the elector leads, the campaign ends: %+v", got)
			default:
			}
			if err := e.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			got := drive.Within(t, drive.Patience, result)
			if got.Err != nil || got.Grant.Token <= s.Token || got.Grant.Clean {
				t.Errorf("after the elector, got %+v; want a token above %d, and no clean start", got, s.Token)
			}
		})
	}
}

// testTakenByElector checks that a holder learns that an elector has taken its Lease.
func testTakenByElector(t *testing.T, r *rig) {
	namespace := r.server.Namespace()
	l := drive.Open(t, Open, r.server.URL(r.server.Addr(), namespace, kubetest.AsAdmin()).String(), electionOptions("ours"))
	drive.Hold(t, l)
	r.server.Patch(kubetest.Leases(namespace)+"/controller", map[string]any{"spec": map[string]any{
		"holderIdentity": "theirs", "renewTime": "2026-01-01T00:00:00.000000Z", "acquireTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 7,
	}})
	if err := drive.LossOf(t, l); !strings.Contains(err.Error(), "someone else has taken the lock over") {
		t.Error(err)
	}
}

// testForeignKept checks that labels, annotations and fields of others stay, and that kubectl
// shows the holder.
func testForeignKept(t *testing.T, r *rig) {
	namespace := r.server.Namespace()
	at := kubetest.Leases(namespace)
	meta := map[string]any{"name": "controller", "labels": map[string]any{"team": "x"}, "annotations": map[string]any{"note": "y"}, "finalizers": []string{"example.org/z"}}
	r.server.Do(http.MethodPost, at, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta})
	l := drive.Open(t, Open, r.server.URL(r.server.Addr(), namespace, kubetest.AsAdmin()).String(), electionOptions("host/1/x"))
	drive.Hold(t, l)
	drive.Renew(t, l)
	var now struct {
		Metadata struct {
			Labels, Annotations map[string]string
			Finalizers          []string
		}
		Spec spec
	}
	if err := json.Unmarshal([]byte(r.server.Do(http.MethodGet, at+"/controller", nil)), &now); err != nil {
		t.Fatal(err)
	}
	if m := now.Metadata; m.Labels["team"] != "x" || m.Annotations["note"] != "y" || len(m.Finalizers) != 1 {
		t.Errorf("what others wrote is now %+v", m)
	}
	if s := now.Spec; !strings.HasPrefix(value(s.Holder), "host/1/x_") || value(s.Seconds) != 3 || s.Acquired == nil || s.Renewed == nil || s.Transitions == nil {
		t.Errorf("the spec is %+v", s)
	}
}

// TestHeartbeat checks that what a kubelet or an API server keeps alive is not touched.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t, "--feature-gates", "CoordinatedLeaderElection=true", "--runtime-config", "coordination.k8s.io/v1beta1=true")
	namespace := server.Namespace()
	at := kubetest.Leases(namespace)
	for what, spec := range map[string]map[string]any{
		"heartbeat":   {"holderIdentity": "node-1", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"},
		"coordinated": {"holderIdentity": "x", "leaseDurationSeconds": 1, "acquireTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 1, "strategy": "OldestEmulationVersion"},
		"endless":     {"holderIdentity": "x", "acquireTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 1},
	} {
		server.Do(http.MethodPost, at, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": what}, "spec": spec})
		before := server.Do(http.MethodGet, at+"/"+what, nil)
		o := electionOptions("ours")
		o.Name = what
		l := drive.Open(t, Open, server.URL(server.Addr(), namespace, kubetest.AsAdmin()).String(), o)
		if _, err := l.Acquire(drive.Context(t), true); err == nil || !strings.Contains(err.Error(), namespace+"/"+what) {
			t.Errorf("%s: acquire: %v", what, err)
		}
		if err := l.(locks.Forgetter).Forget(drive.Context(t)); err == nil {
			t.Errorf("%s: it can be forgotten", what)
		}
		if now := server.Do(http.MethodGet, at+"/"+what, nil); now != before {
			t.Errorf("%s: it was %s and is %s", what, before, now)
		}
	}
}
