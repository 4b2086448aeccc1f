package backendtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest/badserver"
)

// maxResident is the most memory, in bytes, that a helper may have used after the answers of
// such servers. With an honest one it uses 10 to 20 MB.
const maxResident = 200 << 20

// A badServer is a kind of server.
type badServer struct {
	url   string
	wrong []wrong
}

// A wrong is a way in which a server can speak wrongly.
type wrong struct {
	name  string
	start func(tb testing.TB) (addr string)
}

func answering(name string, a badserver.Answer) wrong {
	return wrong{name, func(tb testing.TB) string { return badserver.Start(tb, a) }}
}

func grpc(name string, size uint32) wrong {
	return wrong{name, func(tb testing.TB) string { return badserver.GRPC(tb, size) }}
}

// inConfig is a server that a kubeconfig names.
func inConfig(w wrong) wrong {
	return wrong{w.name, func(tb testing.TB) string { return kubeconfig(tb, "http://"+w.start(tb)) }}
}

// badServers returns the servers of each backend, and its URL with the address of one. The
// servers of gossip are members that have its key, so nobody else is heard.
func badServers() map[string]badServer {
	headers := answering("headers without end", badserver.HTTP("", "X-A: b\r\n"))
	objects := answering("objects without end", badserver.HTTP("X-Consul-Index: 7\r\nContent-Type: application/json\r\n\r\n[{}", ",{}"))
	texts := answering("strings without end", badserver.HTTP("X-Consul-Index: 7\r\n\r\n[\"\"", ",\"\""))
	elements := answering("elements without end", badserver.HTTP("Content-Type: application/xml\r\n\r\n<EnumerationResults><Blobs>", "<Blob></Blob>"))
	return map[string]badServer{
		"etcd":     {"etcd://%s", []wrong{grpc("a message without end", 1<<31-1), grpc("the longest message", 48<<20), grpc("a longer message", 150<<20)}},
		"zk":       {"zk://%s", []wrong{answering("a long vector", badserver.ZooKeeper(0x7f, 0xff, 0xff, 0xff, 'z', 'z'))}},
		"gcs":      {"gcs://bucket?endpoint=http://%s", []wrong{headers, objects}},
		"postgres": {"postgres://u:p@%s/d", []wrong{answering("rows without end", badserver.PostgresRows)}},
		"mysql":    {"mysql://u:p@%s/d", []wrong{answering("a packet without end", badserver.MySQLPacket), answering("rows without end", badserver.MySQLRows)}},
		"consul":   {"consul://%s", []wrong{headers, objects, texts}},
		"azblob":   {"azblob://account/container?endpoint=http://%s", []wrong{headers, elements}},
		"spanner":  {"spanner://project/instance/database?endpoint=http://%s", []wrong{grpc("a message without end", 1<<31-1), grpc("the longest message", 20<<20), grpc("a longer message", 150<<20)}},
		"k8s":      {"k8s:///default?kubeconfig=%s", []wrong{inConfig(headers), inConfig(objects)}},
		"quorum":   {},
		"gossip":   {},
	}
}

// TestBadServers asks servers that do not keep to their protocols. Each request fails in
// time, as if the server could not be reached, and the helper uses little memory.
func TestBadServers(t *testing.T) {
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	open, all := helpers(t), badServers()
	for _, b := range known.Backends() {
		if b.BuiltIn {
			continue
		}
		of, ok := all[b.Scheme]
		if !ok {
			t.Errorf("%s: no bad server is listed", b.Scheme)
		}
		if of.wrong == nil {
			continue
		}
		for _, w := range of.wrong {
			t.Run(b.Scheme+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				askBadServer(t, open, fmt.Sprintf(of.url, w.start(t)))
			})
		}
	}
}

func askBadServer(t *testing.T, open locks.Opener, at string) {
	const timeout = 5 * time.Second
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(t.Context(), u, locks.Options{Name: "x", Holder: "h", RunID: "r", TTL: 15 * time.Second, ConnectTimeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, request := range []struct {
		name string
		make func(context.Context) error
	}{
		{"list", func(ctx context.Context) error { _, _, err := l.(locks.Lister).List(ctx, ""); return err }},
		{"acquire", func(ctx context.Context) error { _, err := l.Acquire(ctx, true); return err }},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 6*timeout)
		start := time.Now()
		err := request.make(ctx)
		cancel()
		t.Logf("%s: %v after %v; %d MB", request.name, err, time.Since(start).Round(time.Millisecond), resident(t, l)>>20)
		refused := errors.Is(err, locks.ErrUnavailable) || errors.Is(err, locks.ErrUsage) // gcs: that object is not ours
		if !refused || ctx.Err() == context.DeadlineExceeded {
			t.Errorf("%s: %v; want an error of an unavailable server, in time", request.name, err)
		}
	}
	if got := resident(t, l); got > maxResident {
		t.Errorf("the helper has used %d MB; want at most %d", got>>20, maxResident>>20)
	}
}

// resident returns the most memory that the helper of a lock has used, in bytes.
func resident(t *testing.T, l locks.Lock) int {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if !l.(locks.Remote).Keeps(pid) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil {
			t.Fatal(err)
		}
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		kB, err := strconv.Atoi(strings.Fields(peak)[0])
		if err != nil {
			t.Fatal(err)
		}
		return kB << 10
	}
	t.Error("the helper has died")
	return 0
}
