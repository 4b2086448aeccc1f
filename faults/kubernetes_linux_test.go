package faults

import (
	"bufio"
	"fmt"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// kubernetesStore is an API server. An elector of client-go contends for the same Lease, and in
// strict mode an operator deletes it.
func kubernetesStore(t *testing.T, p plan) *store {
	s := kubetest.Start(t)
	namespace := s.Namespace()
	all := append(serverFaults(s), fault{"elector contends", func(n *nemesis, _ *machine) bool { return contend(n, s, namespace) }})
	if p.strict {
		lease := kubetest.Leases(namespace) + "/" + lockName
		all = append(all, fault{"lease deleted", func(*nemesis, *machine) bool { return s.Try(http.MethodDelete, lease, nil) == http.StatusOK }})
	}
	return &store{
		servers: []string{s.Addr()}, http: true, faults: all,
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=" + s.URL(addrs[0], namespace, kubetest.AsAdmin()).String()}
		},
	}
}

// contend lets an elector lead for a while, if it gets the Lease within a few leases, and checks
// that no job lives meanwhile.
func contend(n *nemesis, s *kubetest.Server, namespace string) bool {
	config := s.URL(s.Addr(), namespace, kubetest.AsAdmin()).Query().Get("kubeconfig")
	cmd := exec.Command(kubetest.Elector(n.c.t), config, namespace, lockName, "elector", fmt.Sprint(ttl.Seconds()))
	out, err := cmd.StdoutPipe()
	n.must(err)
	n.must(cmd.Start())
	said := make(chan clock.Instant, 10)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var word string
			var at clock.Instant
			if _, err := fmt.Sscan(lines.Text(), &word, &at); err == nil {
				said <- at
			}
		}
	}()
	var begin, end clock.Instant // 0: it never led
	select {
	case begin = <-said:
		n.pass()
		end = trace.Now()
	case <-time.After(4 * ttl):
	case <-n.over:
	}
	n.must(cmd.Process.Signal(syscall.SIGTERM))
	for at := range said {
		end = min(end, at)
	}
	n.must(cmd.Wait())
	if begin != 0 {
		n.alone(begin, end)
	}
	return begin != 0
}

// alone checks that no job has lived between two moments.
func (n *nemesis) alone(begin, end clock.Instant) {
	all, err := trace.ReadAll(n.c.file("trace"))
	n.must(err)
	for _, e := range all {
		if e.Kind != trace.Start || e.Life == "" {
			continue
		}
		life, err := trace.ReadLife(e.Life)
		if err == nil && life.First < end && life.Last > begin {
			n.c.t.Errorf("a job of %s lived from %d to %d, while an elector led from %d to %d", e.Host, life.First, life.Last, begin, end)
		}
	}
}
