package guard_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// privileged is a process of a job that its user may not signal, like those of sudo.
func privileged() {
	rights := "all"
	if syscall.Setuid(0) != nil {
		rights = "none"
	}
	if os.WriteFile(os.Getenv("D")+"/rights", []byte(rights), 0o666) != nil {
		os.Exit(1)
	}
	time.Sleep(time.Hour)
}

// If a process of the job has more rights than the guard, it survives when the guard kills the
// job. The lock is held until that process ends.
func TestMorePrivileged(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can make a program that runs as root")
	}
	for name, end := range map[string]func(*crash){
		"leaderrun killed": func(r *crash) { r.kill() },
		"guard killed":     func(r *crash) { r.signal(r.guard.pid, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := prepare(t, "", `GUARD_TEST_ROLE=privileged $D/privileged & echo $! >$D/child; exec $DEAF`, "-uid", "65534")
			program, err := os.ReadFile("/proc/self/exe")
			if err != nil {
				t.Fatal(err)
			}
			syscall.ForkLock.RLock() // a process that is just being forked would have the file open for writing
			write(t, r.dir+"/privileged", string(program), 0o755)
			syscall.ForkLock.RUnlock()
			if err := os.Chmod(r.dir+"/privileged", os.ModeSetuid|0o755); err != nil {
				t.Fatal(err)
			}
			r.start()
			r.isRunning()
			pid, err := strconv.Atoi(strings.TrimSpace(r.read("child")))
			if err != nil {
				t.Fatal(err)
			}
			child := processOf(pid)
			until(t, "the child has begun", func() bool { return r.read("rights") != "" })
			if r.read("rights") != "all" {
				t.Skip("no program has more rights here: the file system is mounted with nosuid")
			}
			end(r)
			until(t, "the rest is dead", func() bool { return !r.job.alive() })
			for range 20 {
				if file, record := r.free(); file || record || !child.alive() {
					t.Fatalf("the lock is free (file %t, record %t), child alive: %t", file, record, child.alive())
				}
				time.Sleep(20 * time.Millisecond)
			}
			r.signal(child.pid, syscall.SIGKILL)
			until(t, "the lock is free", func() bool { file, _ := r.free(); return file })
			r.nothingLeft()
		})
	}
}
