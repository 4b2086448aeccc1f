package testscripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// TestReleaseVariables builds the core as the Makefile does, because the linker does not
// complain about a -X for an unknown variable.
func TestReleaseVariables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	libexec, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(libexec, "leaderrun-elsewhere")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`(?m)^LDFLAGS = (.*)`).FindSubmatch(makefile)
	if set == nil {
		t.Fatal("the Makefile has no LDFLAGS")
	}
	flags := strings.NewReplacer("$(VERSION)", "v1.2.3-probe", "$(LIBEXEC)", libexec).Replace(string(set[1]))
	p := programs.Programs{LDFlags: flags}
	defer p.Remove()
	build(t, &p, programs.Leaderrun, programs.ZooKeeper)
	program := p.Path("leaderrun")
	if got := output(t, program, "version"); !strings.HasPrefix(got, "leaderrun v1.2.3-probe ") {
		t.Errorf("the version does not reach the program: %s", got)
	}
	if got := output(t, p.Path("leaderrun-zk"), "--version"); !strings.Contains(got, "v1.2.3-probe") {
		t.Errorf("the version does not reach the helper: %s", got)
	}
	if got := output(t, program, "backends"); !strings.Contains(got, helper) {
		t.Errorf("main.libexec does not reach the program:\n%s", got)
	}
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}
