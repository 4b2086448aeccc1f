package kubernetes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// plugged returns the address of a namespace, whose credentials a script prints. In the script,
// $dir is a directory, and print TOKEN SECONDS prints credentials.
func plugged(t *testing.T, r *rig, script string) (u, dir string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "plugin")
	text := fmt.Sprintf(`#!/bin/sh
dir=%s
print() {
	ends=$(date -u -d "$2 seconds" +%%Y-%%m-%%dT%%H:%%M:%%SZ)
	echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$1'","expirationTimestamp":"'$ends'"}}'
}
echo x >>$dir/runs
%s
`, dir, script)
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	user := map[string]any{"exec": map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "command": file, "interactiveMode": "IfAvailable", "provideClusterInfo": true}}
	return r.server.URL(r.server.Addr(), r.server.Namespace(), user).String(), dir
}

// testSlowPlugin checks that a plugin which does not end costs no renewal, and that it reads
// nothing of our standard input.
func testSlowPlugin(t *testing.T, r *rig) {
	u, dir := plugged(t, r, `readlink /proc/self/fd/0 >$dir/stdin
case $KUBERNETES_EXEC_INFO in *'"certificate-authority-data":"'*) ;; *) exit 1 ;; esac
if [ $(wc -l <$dir/runs) -gt 1 ]; then
	echo x >$dir/begun
	cat $dir/gate
fi
print `+kubetest.Admin+` 6`)
	for _, name := range []string{"gate", "begun"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := drive.Open(t, Open, u, electionOptions("a"))
	drive.Hold(t, l)
	begun := make(chan error, 1)
	go func() { _, err := os.ReadFile(filepath.Join(dir, "begun")); begun <- err }()
	renew := func() {
		ctx, cancel := context.WithTimeout(drive.Context(t), electionTTL/3)
		defer cancel()
		if err := l.Renew(ctx); err != nil {
			t.Fatalf("while the plugin runs: %v", err)
		}
	}
	for n := 0; n < 20; {
		select {
		case err := <-begun:
			if begun = nil; err != nil {
				t.Fatal(err)
			}
		case <-time.After(electionTTL / 10):
		}
		renew()
		if begun == nil {
			n++
		}
	}
	if stdin, err := os.ReadFile(filepath.Join(dir, "stdin")); err != nil || strings.TrimSpace(string(stdin)) != "/dev/null" {
		t.Errorf("the plugin's standard input is %q, %v", stdin, err)
	}
}

// testRefusedToken checks that the plugin runs again when a server refuses what it has printed.
func testRefusedToken(t *testing.T, r *rig) {
	u, _ := plugged(t, r, `if [ $(wc -l <$dir/runs) = 1 ]; then print wrong 600; else print `+kubetest.Admin+` 600; fi`)
	drive.Hold(t, drive.Open(t, Open, u, electionOptions("a")))
}

// testFailedPlugin checks that what a plugin says is shown when it fails.
func testFailedPlugin(t *testing.T, r *rig) {
	u, _ := plugged(t, r, `echo 'please log in' >&2; exit 1`)
	_, err := drive.Open(t, Open, u, electionOptions("a")).Acquire(drive.Context(t), true)
	isClass(t, "with a plugin that fails", err, locks.ErrDenied, "please log in")
}
