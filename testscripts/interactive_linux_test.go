package testscripts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// theirPrograms are the programs that these tests run in a shell.
var theirPrograms = map[string]string{
	// talk echoes lines, and records the signals that it gets. It reports when it is
	// ready.
	"talk": `#!/usr/bin/perl
for my $s (qw(INT QUIT HUP WINCH CONT TTIN TTOU)) {
	$SIG{$s} = sub { open my $f, '>>', 'signals'; print $f "$s\n"; close $f };
}
open my $f, '>', 'pid'; print $f "$$\n"; close $f;
$| = 1;
print "ready\n";
while (1) {
	my $n = sysread STDIN, my $line, 1000;
	next if !defined $n && $!{EINTR};
	exit 0 unless $n;
	chomp $line;
	print "heard <$line>\n";
	exit 5 if $line eq 'bye';
}
`,
	// plain is "talk" without handlers.
	"plain": `#!/bin/sh
echo $$ >pid
echo re""ady
while read line; do echo "heard <$line>"; done
exit 6
`,
	// hangup counts hang-ups, and continues.
	"hangup": `#!/bin/sh
trap "echo HUP >>signals" HUP
echo ready
while :; do sleep 0.02; done 2>/dev/null
`,
	// raw leaves the terminal in another mode whatever happens.
	"raw": `#!/bin/bash
stty -echo -icanon
echo $$ >pid
echo re""ady
while read -n 1 c; do echo "heard <$c>"; done
`,
}

// wrappers are the ways to run a program that must not differ. With timeout the program
// is in our own process group.
var wrappers = map[string]string{
	"shell":     "",
	"timeout":   "timeout --foreground 300 ",
	"leaderrun": "leaderrun -l x -- ",
}

// under runs a test once for each wrapper, with the same expectations.
func under(t *testing.T, f func(t *testing.T, s *shell, w string)) {
	t.Parallel()
	for name, w := range wrappers {
		t.Run(name, func(t *testing.T) { f(t, bash(t), w) })
	}
}

// TestTerminalStatus checks that the status and output of a job are the same in a
// pipeline and elsewhere.
func TestTerminalStatus(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.is(w+"sh -c 'exit 3'", "3")
		s.is("("+w+"sh -c 'kill -9 $$'; echo $?) 2>&1 | tail -1", "137\n0")
		s.is(w+"yes | head -1; echo ${PIPESTATUS[*]}", "y\n141 0\n0")
		s.is("yes | "+w+"head -1; echo ${PIPESTATUS[*]}", "y\n141 0\n0")
		s.is("echo 1 | "+w+"cat | cat", "1\n0")
		s.is("echo $("+w+"tty)", s.run("tty"))
	})
}

// TestTerminalRead checks that a job reads what is typed.
func TestTerminalRead(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.key(w + "plain\n")
		s.expect("ready")
		s.key("one\n")
		s.expect("heard <one>")
		s.key(ctrlD)
		if got := s.ends(); !strings.HasSuffix(got, "6") {
			t.Errorf("got %q, want the status 6", got)
		}
	})
}

// TestTerminalModesAreMeant checks that stty has an effect, because it ends normally.
func TestTerminalModesAreMeant(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.run(w + "stty -echo")
		if s.has(unix.ECHO) {
			t.Error("the terminal echoes")
		}
		s.run(w + "stty echo")
		if !s.has(unix.ECHO) {
			t.Error("the terminal does not echo")
		}
	})
}

// TestTerminalKeysEnd checks that Ctrl-C and Ctrl-\ end a job that does not handle them,
// with the same status.
func TestTerminalKeysEnd(t *testing.T) {
	for key, status := range map[string]string{ctrlC: "130", ctrlBS: "131"} {
		t.Run(status, func(t *testing.T) {
			under(t, func(t *testing.T, s *shell, w string) {
				if status == "131" && strings.HasPrefix(w, "timeout") {
					t.Skip("timeout gets the signal as well, and ends first")
				}
				s.key(w + "plain\n")
				s.expect("ready")
				s.key(key)
				if got := s.ends(); !strings.HasSuffix(got, status) {
					t.Errorf("got %q, want the status %s", got, status)
				}
				s.is("jobs", "0")
			})
		})
	}
}

// TestTerminalKeyStopsAScript checks that Ctrl-C also ends a loop or a script around the
// program.
func TestTerminalKeyStopsAScript(t *testing.T) {
	for _, around := range []string{"for i in 1 2; do %s; done", "sh script", "bash script", "sh -c '%s; echo went on'", "sh -c '%s | cat; echo went on'"} {
		t.Run(around, func(t *testing.T) {
			under(t, func(t *testing.T, s *shell, w string) {
				if strings.HasPrefix(w, "timeout") {
					t.Skip("timeout gets the signal as well, and sometimes exits instead of dying of it")
				}
				if err := os.WriteFile(filepath.Join(s.dir, "script"), []byte(w+"plain\necho went on\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				s.key(strings.ReplaceAll(around, "%s", w+"plain") + "\n")
				s.expect("ready")
				s.key(ctrlC)
				if got := s.ends(); strings.Contains(got, "ready") || strings.Contains(got, "went") || !strings.HasSuffix(got, "130") {
					t.Errorf("got %q, want the status 130 and no more", got)
				}
				s.is("leaderrun -n -l x echo free", "free\n0")
			})
		})
	}
}

// TestTerminalKeysAreTheJobs checks that a job that handles a key's signal gets it once
// and continues, and the same for a change of the window size.
func TestTerminalKeysAreTheJobs(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		if strings.HasPrefix(w, "timeout") {
			t.Skip("timeout passes on a signal that the terminal has already sent")
		}
		s.key(w + "talk\n")
		s.expect("ready")
		want := ""
		for _, step := range []struct {
			do   func()
			name string
		}{
			{func() { s.key(ctrlC) }, "INT"},
			{func() { s.key(ctrlBS) }, "QUIT"},
			{func() { s.resize(30) }, "WINCH"},
			{func() { s.key(ctrlC) }, "INT"},
		} {
			step.do()
			want += step.name + "\n"
			s.key("x\n") // perl may notice the signal only now
			s.expect("heard <x>")
			s.await("signals", want)
		}
		s.key("bye\n")
		if got := s.ends(); !strings.HasSuffix(got, "5") {
			t.Errorf("got %q, want the status 5", got)
		}
		s.await("signals", want)
	})
}

// TestTerminalStop checks that Ctrl-Z stops the job for the shell, and that fg and bg
// continue it.
func TestTerminalStop(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.key(w + "plain\n")
		s.expect("ready")
		for _, word := range []string{"one", "two"} {
			s.key(ctrlZ)
			s.expect(`\[1\]\+  Stopped`)
			s.isBack()
			s.isStopped("pid") // perhaps after timeout(1)
			s.is("echo here", "here\n0")
			s.key("fg\n")
			s.expect("plain")
			s.key(word + "\n")
			s.expect("heard <" + word + ">")
		}
		s.key(ctrlZ)
		s.expect("Stopped")
		s.isBack()
		if strings.HasPrefix(w, "timeout") {
			return // it ignores SIGTTIN, so it would wait in the background forever
		}
		s.key("bg\n") // the job reads, and is stopped for that
		s.stoppedByReading()
		s.key("fg\n")
		s.expect("plain")
		s.key("three\n")
		s.expect("heard <three>")
		s.key(ctrlC)
		if got := s.ends(); !strings.HasSuffix(got, "130") {
			t.Errorf("got %q, want the status 130", got)
		}
	})
}

// TestTerminalStopOfPipeline checks that Ctrl-Z stops the whole pipeline, although only
// the job has the terminal.
func TestTerminalStopOfPipeline(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.key(w + "plain | cat\n")
		s.expect("ready")
		s.key("one\n")
		s.expect("heard <one>")
		s.key(ctrlZ)
		s.expect(`\[1\]\+  Stopped`)
		s.isBack()
		s.isStopped("pid") // perhaps after timeout(1)
		s.key("fg\n")
		s.expect("plain")
		s.key("two\n")
		s.expect("heard <two>")
		s.key(ctrlD)
		s.ends()
	})
}

// TestTerminalStopOfTwo checks that one fg is enough after each Ctrl-Z, for a pipeline of two
// of the same, whether one of them has the terminal or none.
func TestTerminalStopOfTwo(t *testing.T) {
	// A shell that starts programs would not do: between its vfork and exec, Ctrl-Z stops only
	// its child.
	for _, tt := range []struct{ name, first, typed string }{
		{"without", `perl -e '$| = 1; while (1) { print "x\n"; select undef, undef, undef, 0.01 }'`, ""},
		{"with", "sh -c 'while read line; do echo x; done'", "x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			under(t, func(t *testing.T, s *shell, w string) {
				if strings.HasPrefix(w, "timeout") {
					t.Skip("timeout stops before its command, which may read what is meant for the shell")
				}
				s.key(w + tt.first + " | " + strings.Replace(w, "-l x", "-l y", 1) + "sh -c 'while read line; do echo $line >>both; done'\n")
				for range 20 {
					s.key(tt.typed)
					s.text("both")
					s.key(ctrlZ)
					s.expect(`\[1\]\+  Stopped`)
					s.isBack()
					if err := os.Remove(filepath.Join(s.dir, "both")); err != nil {
						t.Fatal(err)
					}
					s.key("fg\n")
					s.expect("read line")
				}
				s.key(tt.typed)
				s.text("both")
				s.key(ctrlC)
				s.ends()
			})
		})
	}
}

// TestTerminalBackground checks that a background job that reads is stopped, and that fg
// continues it.
func TestTerminalBackground(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		if strings.HasPrefix(w, "timeout") {
			t.Skip("timeout is not stopped when its command is")
		}
		s.reads(w+"plain", "true")
	})
}

// reads runs plain in the background, where it is suspended because it reads, and brings it back
// after a pause.
func (s *shell) reads(command, pause string) {
	s.t.Helper()
	s.key(command + " &\n")
	s.expect("ready")
	s.stoppedByReading()
	s.is(pause, "0")
	s.key("fg\n")
	s.expect("plain")
	s.key("one\n")
	s.expect("heard <one>")
	s.key(ctrlD)
	if got := s.ends(); !strings.HasSuffix(got, "6") {
		s.t.Errorf("got %q, want the status 6", got)
	}
}

// TestTerminalBackgroundForLong is TestTerminalBackground for a job that was suspended for longer
// than leaderrun waits to be suspended, on one processor, on which it learns last that it was
// continued.
func TestTerminalBackgroundForLong(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := bash(t)
			s.reads("GOMAXPROCS=1 taskset -c 0 leaderrun -l x -- plain", "sleep 1.5")
		})
	}
}

// TestTerminalBackgroundOfScript checks that Ctrl-C ends a script, and not what it runs in the
// background. In bash, the second of two has the terminal as its standard input.
func TestTerminalBackgroundOfScript(t *testing.T) {
	for _, sh := range []string{"bash", "sh"} {
		t.Run(sh, func(t *testing.T) {
			under(t, func(t *testing.T, s *shell, w string) {
				script := w + "sh -c 'echo $$ >a; exec sleep 1000' & " +
					strings.Replace(w, "-l x", "-l y", 1) + "sh -c 'echo $$ >b; exec sleep 1000' & wait\necho went on\n"
				if err := os.WriteFile(filepath.Join(s.dir, "script"), []byte(script), 0o600); err != nil {
					t.Fatal(err)
				}
				s.key(sh + " script\n")
				s.text("a")
				s.text("b")
				s.key(ctrlC)
				if got := s.ends(); strings.Contains(got, "went") || !strings.HasSuffix(got, "130") {
					t.Errorf("got %q, want the status 130 and no more", got)
				}
				if !strings.HasPrefix(w, "timeout") { // which passes INT on
					s.signal("a", syscall.SIGTERM)
					s.signal("b", syscall.SIGTERM)
				}
			})
		})
	}
}

// TestTerminalBackgroundReads checks that a job in the background of a script that wants the
// terminal gets HUP, and the script goes on. A job that only inherits that INT is ignored gets
// the terminal.
func TestTerminalBackgroundReads(t *testing.T) {
	s := bash(t)
	for _, job := range []string{"read x </dev/tty", "stty echo </dev/tty"} {
		s.is("sh -c 'leaderrun -l x -- sh -c \""+job+"\" & wait $!; echo ended $?'", "ended 129\n0")
	}
	s.key(`sh -c 'trap "" INT; leaderrun -l x -- plain'` + "\n")
	s.expect("ready")
	s.key("one\n")
	s.expect("heard <one>")
	s.key(ctrlC + "two\n")
	s.expect("heard <two>")
	s.key(ctrlD)
	if got := s.ends(); !strings.HasSuffix(got, "6") {
		t.Errorf("got %q, want the status 6", got)
	}
}

// TestTerminalModesAreRestored checks that terminal modes that a job cannot restore are
// restored for it, and set again when it continues.
func TestTerminalModesAreRestored(t *testing.T) {
	s := bash(t)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		s.key("leaderrun -l x -- raw\n")
		s.expect("ready")
		s.signal("pid", sig)
		s.ends()
		s.key("leaderrun -l x -- stty -a | cat\n")
		s.expect(` icanon`)
		s.expect(` echo `)
		s.expect(prompt)
	}
	s.key("leaderrun -l x -- raw\n")
	s.expect("ready")
	s.signal("pid", syscall.SIGSTOP)
	s.expect("Stopped")
	s.isBack()
	s.is("stty -a | grep -c -e -icanon", "0\n1")
	s.key("fg\n")
	s.expect("raw")
	s.key("y") // without a newline: the mode is raw again
	s.expect("heard <y>")
	s.signal("pid", syscall.SIGKILL)
	s.ends()
}

// TestTerminalIsReturned checks that a script on a terminal can read again after a kill of
// leaderrun, whether the job itself had the terminal or a group that it made.
func TestTerminalIsReturned(t *testing.T) {
	for name, job := range map[string]string{"job": "plain", "group of the job": "dash -mc 'echo $$ >pid; cat inner; cat; :'"} {
		t.Run(name, func(t *testing.T) {
			s := onTerminal(t, "dash", "-c", "leaderrun -l x -- "+job+`; until read line; do sleep 0.02; done; echo "read <$line>"`)
			s.expect(map[string]string{"job": "ready", "group of the job": "No such file"}[name])
			pid := s.pid("pid")
			s.signalLeaderrun("pid", syscall.SIGKILL)
			s.expect("Killed")
			s.foregroundIs(s.cmd.Process.Pid)
			s.gone(pid) // until then its last read could end with what is typed
			s.key("one\n")
			s.expect("read <one>")
		})
	}
}

// TestTerminalStopByKill checks that TSTP for leaderrun alone stops the job and then
// leaderrun.
func TestTerminalStopByKill(t *testing.T) {
	s := bash(t)
	s.key("leaderrun -l x -- plain\n")
	s.expect("ready")
	s.signalLeaderrun("pid", syscall.SIGTSTP)
	s.expect("Stopped")
	s.isBack()
	s.is("echo here", "here\n0")
	s.key("fg\n")
	s.expect("plain")
	s.key("one\n")
	s.expect("heard <one>")
	s.key(ctrlC)
	s.ends()
}

// TestTerminalCommands checks that a job gets TTIN and TTOU that somebody sends to leaderrun
// alone, and keeps the terminal, whether leaderrun is alone in its group or not.
func TestTerminalCommands(t *testing.T) {
	for _, command := range []string{"leaderrun -l x -- talk", "sh -c 'leaderrun -l x -- talk; exit $?'"} {
		t.Run(command, func(t *testing.T) {
			s := bash(t)
			s.key(command + "\n")
			s.expect("ready")
			s.foreground("pid")
			want := ""
			for _, sig := range []syscall.Signal{syscall.SIGTTIN, syscall.SIGTTOU} {
				s.signalLeaderrun("pid", sig)
				want += strings.TrimPrefix(unix.SignalName(sig), "SIG") + "\n"
				s.await("signals", want)
				s.key("x\n")
				s.expect("heard <x>")
			}
			s.key("bye\n")
			if got := s.ends(); !strings.HasSuffix(got, "5") {
				t.Errorf("got %q, want the status 5", got)
			}
		})
	}
}

// TestTerminalNeighbour checks that another process of the pipeline gets the terminal from the
// job when it wants to read.
func TestTerminalNeighbour(t *testing.T) {
	s := bash(t)
	s.key("leaderrun -l x -- sh -c 'echo $$ >pid; stty echo </dev/tty; sleep 1000' |" +
		" sh -c 'until test -e turn; do sleep 0.02; done; echo re\"\"ady; read line </dev/tty; echo \"heard <$line>\"'\n")
	s.foreground("pid")
	if err := os.WriteFile(filepath.Join(s.dir, "turn"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.expect("ready")
	s.key("one\n")
	s.expect("heard <one>")
	s.signal("pid", syscall.SIGTERM)
	s.ends()
}

// freezes starts leaderrun with a job that has the terminal, and stops leaderrun alone.
func (s *shell) freezes() {
	s.t.Helper()
	s.key("leaderrun -l x -- sh -c 'echo $$ >pid; echo re\"\"ady; exec sleep 1000'\n")
	s.expect("ready")
	s.foreground("pid")
	s.signalLeaderrun("pid", syscall.SIGSTOP)
	s.expect("Stopped")
	s.isBack()
}

// TestTerminalFreeze: STOP cannot be passed on, but fg gives the job its terminal again.
func TestTerminalFreeze(t *testing.T) {
	s := bash(t)
	s.freezes()
	s.key("fg\n")
	s.expect("sleep")
	s.foreground("pid")
	s.key(ctrlC)
	if got := s.ends(); !strings.HasSuffix(got, "130") {
		t.Errorf("got %q, want the status 130", got)
	}
}

// TestTerminalBackgroundEnd: a job that dies while leaderrun is stopped leaves the terminal to the
// shell, which has it by then.
func TestTerminalBackgroundEnd(t *testing.T) {
	s := bash(t)
	for range 3 { // it is a race
		s.freezes()
		job := s.pid("pid")
		s.signal("pid", syscall.SIGKILL)
		s.gone(job)
		s.key("bg\n")
		s.expect("Exit 137")
		s.foregroundIs(s.cmd.Process.Pid)
		s.key("echo ha\"\"nded back\n")
		s.expect("handed back")
	}
}

// TestTerminalPager checks that in a pipeline the terminal goes to the process that asks
// for it.
func TestTerminalPager(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		if strings.HasPrefix(w, "timeout") {
			t.Skip("timeout and less, which stops their group itself, are in a race")
		}
		s.run("seq 1000 >numbers")
		for _, command := range []string{w + "less numbers", "cat numbers | " + w + "less", w + "cat numbers | less"} {
			s.key(command + "\n")
			s.expect(`\b23\r?\n`)
			s.key(" ")
			s.expect(`\b46\r?\n`)
			s.key(ctrlZ)
			s.expect("Stopped")
			s.isBack()
			s.key("fg\n")
			s.expect(`\b46\r?\n`)
			s.key(" ")
			s.expect(`\b69\r?\n`)
			s.key("q")
			if got := s.ends(); !strings.HasSuffix(got, "0") {
				t.Errorf("%s: got %q, want the status 0", command, got)
			}
			s.is("jobs", "0")
		}
	})
}

// TestTerminalEditor checks that an editor edits, stops and continues.
func TestTerminalEditor(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.key(w + "vi -u NONE file\n")
		s.expect(`~[^~]+~`)
		s.key("ione\x1b")
		s.expect("one")
		s.key(ctrlZ)
		s.expect("Stopped")
		s.isBack()
		if !s.has(unix.ECHO) || !s.has(unix.ICANON) {
			t.Error("the terminal is still in the editor's modes")
		}
		s.key("fg\n")
		s.expect(`~[^~]+~`)
		s.key("atwo\x1b:wq\r")
		if got := s.ends(); !strings.HasSuffix(got, "0") {
			t.Errorf("got %q, want the status 0", got)
		}
		s.is("cat file", "onetwo\n0")
	})
}

// stoppedByReading waits until the shell's only job is stopped because it read in the
// background.
func (s *shell) stoppedByReading() {
	s.t.Helper()
	s.expect("Stopped")
	s.key("jobs -l\n")
	s.expect(`Stopped \(tty input\)`)
	s.isBack()
}

// TestTerminalWaiting checks that the keys are ours while another holds the lock.
func TestTerminalWaiting(t *testing.T) {
	s := bash(t)
	s.key("leaderrun -l x -- sh -c 'echo $$ >holder; exec sleep 1000' &\n")
	s.expect(prompt)
	s.text("holder")
	s.key("leaderrun -v -l x -- echo not yet\n")
	s.expect("waiting holder")
	s.key(ctrlC)
	if got := s.ends(); !strings.HasSuffix(got, "130") {
		t.Errorf("got %q, want the status 130", got)
	}
	s.key("leaderrun -v -l x -- plain\n")
	s.expect("waiting holder")
	s.key(ctrlZ)
	s.expect("Stopped")
	s.isBack()
	s.run("kill %1")
	s.key("fg %2\n")
	s.expect("ready")
	s.key("one\n")
	s.expect("heard <one>")
	s.key(ctrlC)
	s.ends()
}

// TestTerminalLeader checks that Ctrl-Z stops nothing in the leader of a session, because
// nobody could continue it.
func TestTerminalLeader(t *testing.T) {
	s := onTerminal(t, "leaderrun", "-l", "x", "--", "plain")
	s.expect("ready")
	for _, word := range []string{"one", "two"} {
		s.key(ctrlZ)
		s.expect(`\^Z`)
		s.key(word + "\n")
		s.expect("heard <" + word + ">")
	}
	s.key(ctrlC)
	if got := s.status(); got != 130 {
		t.Errorf("got the status %d, want 130", got)
	}
}

// TestTerminalHangup checks that the job ends when the terminal is gone, after one HUP.
func TestTerminalHangup(t *testing.T) {
	s := onTerminal(t, "leaderrun", "-l", "x", "-k", "1", "--", "hangup")
	s.expect("ready")
	_ = s.master.Close()
	s.status()
	if got := strings.Count(s.text("signals"), "HUP"); got != 1 {
		t.Errorf("the job got HUP %d times, want once", got)
	}
}

// TestTerminalTostop checks that messages do not stop us while the job has the terminal.
func TestTerminalTostop(t *testing.T) {
	s := bash(t)
	s.run("stty tostop")
	s.is("leaderrun -vv -l x -- sh -c 'exit 3' 2>&1 | grep -c started", "1\n0")
	s.key("leaderrun -vv -l x -- plain\n")
	s.expect(`(?s)started.*ready|ready.*started`)
	s.key("one\n")
	s.expect("heard <one>")
	s.key(ctrlD)
	if got := s.ends(); !strings.HasSuffix(got, "6") {
		t.Errorf("got %q, want the status 6", got)
	}
}

// TestTerminalSetsid checks that a stopped job stays stopped without a controlling
// terminal.
func TestTerminalSetsid(t *testing.T) {
	s := bash(t)
	s.key("setsid -w leaderrun -l x -- sh -c 'echo $$ >pid; kill -STOP $$; echo on >on; exit 4'; echo =$?\n")
	s.text("pid")
	s.continuing("pid", "on")
	s.expect("=4")
}
