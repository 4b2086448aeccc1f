// Package programs builds what tests of fleets run.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

const module = "github.com/leaderrun/leaderrun"

// Leaderrun is the package of the core.
const Leaderrun = module

// tags are those that the programs are released with (see Makefile).
const tags = "urfave_cli_no_docs,grpcnotrace,disable_grpc_modules"

// Programs are built once, in a directory of their own.
type Programs struct {
	once sync.Once
	dir  string
	err  error
}

// Build builds leaderrun from a package, with the helpers and the subject, as they
// are released: what runs a thousand times must start fast. It does so once, and
// blocks until it is done.
func (p *Programs) Build(leaderrun string) error {
	p.once.Do(func() { p.err = p.build(leaderrun) })
	return p.err
}

func (p *Programs) build(leaderrun string) (err error) {
	if p.dir, err = os.MkdirTemp("", "leaderrun-fleet-"); err != nil {
		return err
	}
	c := exec.Command("go", "build", "-trimpath", "-tags", tags, "-o", p.dir+"/", leaderrun, module+"/faults/testdata/subject",
		module+"/locks/etcd/leaderrun-etcd", module+"/locks/gcs/leaderrun-gcs", module+"/locks/zookeeper/leaderrun-zk")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Path is that of a program.
func (p *Programs) Path(name string) string { return filepath.Join(p.dir, name) }

// Remove removes them.
func (p *Programs) Remove() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}
