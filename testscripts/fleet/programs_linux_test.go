package fleet

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

const module = "github.com/leaderrun/leaderrun/"

// programs are the directory of what was built for this test process.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	// Fleets wait most of their time; a machine of two cores runs many at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs.dir)
	os.Exit(code)
}

// build builds the programs, as they are released: what runs a thousand times must
// start fast, and a test binary would not.
func build(t *testing.T) string {
	t.Helper()
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "fleet"); programs.err != nil {
			return
		}
		c := exec.Command("go", "build", "-tags", "urfave_cli_no_docs,grpcnotrace,disable_grpc_modules", "-o", programs.dir+"/",
			"./testdata/leaderrun", module+"faults/testdata/subject",
			module+"locks/etcd/leaderrun-etcd", module+"locks/gcs/leaderrun-gcs", module+"locks/zookeeper/leaderrun-zk")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Logf("%s", out)
			programs.err = err
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return programs.dir
}

// long reports whether the whole of it is to be run, and not a short part.
func long() bool { return os.Getenv("LEADERRUN_TEST_LONG") == "1" }

// seed is that of a run. It is printed, so that a run can be planned again.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(time.Now().UnixNano())
	if text := os.Getenv("LEADERRUN_TEST_SEED"); text != "" {
		var err error
		if s, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LEADERRUN_TEST_SEED=%d", s)
	return s
}

// environment is what all programs of a fleet have. The cookie is in nobody
// else's.
func environment(dir, cookie string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir,
		"TMPDIR=" + os.TempDir(),
		"LEADERRUN_CONFIG=" + os.DevNull,
		trace.CookieVariable + "=" + cookie,
	}
}

func program(name string) string { return filepath.Join(programs.dir, name) }
