package guard

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// aTask has a value in each field.
var aTask = startOrder{
	killBy: clock.Never,
	command: proc.Command{
		Path: "/bin/sh",
		Args: []string{"sh", "", "a b\n\xff"},
		Env:  []string{"A=", "B=1"},
	},
	message: []byte(`{"id":"guard"}` + "\n"),
	remove:  []string{"/tmp/a/s", "/tmp/a"},
}

// A long order is sent in parts, so that other frames can be sent in between.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, part - 100, part, 3*part + 7, 1 << 20} {
		want := checkStart{5, proc.Command{Path: "/bin/true", Args: []string{"true"}, Env: []string{"A=" + strings.Repeat("x", size)}}}
		g := guard{host: machine{}, container: groupContainer{}, killBy: clock.Never}
		all := want.frame().parts()
		for i, f := range all {
			if last := i == len(all)-1; len(f.body) > part || (f.kind == kindCheck) != last {
				t.Errorf("%d: frame %d of %d is %q, %d bytes", size, i, len(all), f.kind, len(f.body))
			}
			if f.kind == kindCheckPart {
				g.carryOut(f)
			}
		}
		f := all[len(all)-1]
		f.body = append(g.partial, f.body...)
		if got, err := f.checkStart(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %d bytes, %v", size, len(f.body), err)
		}
	}
}

func TestTaskRoundTrip(t *testing.T) {
	t.Parallel()
	noInput := aTask
	noInput.command.NoInput = true
	foreground := aTask
	foreground.tty = true
	for _, want := range []startOrder{aTask, noInput, foreground, {message: []byte{}}} {
		got, err := want.frame().startOrder()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

// A frame that is cut short anywhere, or has bytes after its end, is not a task.
func TestTaskCutShort(t *testing.T) {
	t.Parallel()
	body := aTask.frame().body
	for n := range body {
		if got, err := (frame{kindStart, body[:n]}).startOrder(); err == nil {
			t.Errorf("%d of %d bytes: got %+v", n, len(body), got)
		}
	}
	if _, err := (frame{kindStart, append(body, 0)}).startOrder(); err == nil {
		t.Error("a frame with a byte too many was accepted")
	}
	body[8] = startsUnknown
	if _, err := (frame{kindStart, body}).startOrder(); err == nil {
		t.Error("an unknown flag was accepted")
	}
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []checkStart{{3, aTask.command}, {}} {
		f := want.frame()
		if got, err := f.checkStart(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		for n := range f.body {
			if got, err := (frame{kindCheck, f.body[:n]}).checkStart(); err == nil {
				t.Errorf("%d of %d bytes: got %+v", n, len(f.body), got)
			}
		}
		if _, err := (frame{kindCheck, append(f.body, 0)}).checkStart(); err == nil {
			t.Error("a frame with a byte too many was accepted")
		}
	}
}

func TestNumberRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []int64{0, 1, -1, int64(clock.Never), goneToo | 9} {
		if got, err := number(kindExited, want).number(); got != want || err != nil {
			t.Errorf("got %d, %v; want %d", got, err, want)
		}
	}
	if _, err := (frame{kindExited, []byte("short")}).number(); err == nil {
		t.Error("five bytes were accepted as a number")
	}
}

// connected returns two connected ends.
func connected(t *testing.T) (a, b *conn) {
	t.Helper()
	ours, theirs, err := socketpair()
	if err != nil {
		t.Fatal(err)
	}
	for fd, c := range map[int]**conn{ours: &a, theirs: &b} {
		if *c, err = newConn(fd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*c).file.Close() })
	}
	return a, b
}

// offer writes as much as there is room for, and does not wait.
func TestOffer(t *testing.T) {
	t.Parallel()
	a, b := connected(t)
	small := number(kindExited, goneToo).encode()
	if n, err := a.offer(small); n != len(small) || err != nil {
		t.Fatalf("got %d of %d, %v", n, len(small), err)
	}
	if f, err := b.receive(); f.kind != kindExited || err != nil {
		t.Errorf("got %q, %v", f.kind, err)
	}
	long := bytes.Repeat([]byte("x"), 3_000_000)
	if n, err := a.offer(long); n == 0 || n == len(long) || err != nil {
		t.Errorf("with too little room: got %d of %d, %v", n, len(long), err)
	}
	if n, err := a.offer(long); n != 0 || err != nil {
		t.Errorf("without room: got %d, %v", n, err)
	}
}

// Frames arrive whole and in order, however long they are, and then io.EOF.
func TestConn(t *testing.T) {
	t.Parallel()
	a, b := connected(t)
	long := frame{kindStart, bytes.Repeat([]byte("x"), 3_000_000)}
	frames := []frame{{kind: kindKill}, long, number(kindDeadline, 7)}
	go func() {
		for _, f := range frames {
			if err := a.send(f); err != nil {
				t.Error(err)
			}
		}
		_ = a.file.Close()
	}()
	for _, want := range frames {
		got, err := b.receive()
		if err != nil || got.kind != want.kind || !bytes.Equal(got.body, want.body) {
			t.Fatalf("got %q, %d bytes, %v; want %q, %d bytes", got.kind, len(got.body), err, want.kind, len(want.body))
		}
	}
	if _, err := b.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
}

// A length that no frame can have is an error at once: receive does not wait for the bytes.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"S\xff\xff\xff\xff", "S\x7f\xff\xff\xff", "S\x01\x00\x00\x01"} {
		a, b := connected(t)
		if _, err := a.file.WriteString(head); err != nil {
			t.Fatal(err)
		}
		if _, err := b.receive(); !errors.Is(err, errFrame) {
			t.Errorf("%q: got %v, want %v", head, err, errFrame)
		}
	}
}

// If nobody reads, send waits until the reader has died, or we close our end.
func TestSendToNobody(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(a, b *conn){
		"dies":      func(_, b *conn) { b.close() },
		"is closed": func(a, _ *conn) { a.close() },
	} {
		a, b := connected(t)
		sent := make(chan error)
		go func() { sent <- a.send(frame{kindStart, make([]byte, 3_000_000)}) }()
		select {
		case err := <-sent:
			t.Fatalf("nobody has read the frame, but send returned %v", err)
		case <-time.After(200 * time.Millisecond):
		}
		end(a, b)
		if err := <-sent; err == nil || closed(err) != (name == "dies") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Files arrive with their frame, and processes that we start do not inherit them.
func TestFiles(t *testing.T) {
	t.Parallel()
	a, b := connected(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.sendFiles(frame{kindFiles, []byte{filesHold}}, descriptor(f)); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := b.receive(); err != nil {
		t.Fatal(err)
	}
	got := b.nextFile("hold")
	if got == nil || b.nextFile("release") != nil {
		t.Fatal("want the one file that was sent")
	}
	defer got.Close()
	if flags, err := unix.FcntlInt(got.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the job would inherit the file: flags %x, %v", flags, err)
	}
}

// A guard does not start a job after its deadline.
func TestSpawnTooLate(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	late := startOrder{killBy: clock.Boot{}.Now(), command: proc.Command{Path: "/usr/bin/env", Args: []string{"env", "touch", ran}}}
	pid, err := newGuard(nil, machine{}).spawn(late)
	if pid != 0 || !errors.Is(err, errnoLate) {
		t.Errorf("got %d, %v", pid, err)
	}
}

// Any bytes are a frame, the beginning of one, or an error. They take no more memory than was
// received.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(aTask.frame().encode())
	f.Add(checkStart{1, aTask.command}.frame().encode())
	f.Add(append(number(kindKillCheck, 1).encode(), number(kindCheckExited, 0).encode()...))
	f.Add([]byte("B\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add(append(number(kindDeadline, 1).encode(), frame{kind: kindKill}.encode()...))
	f.Add([]byte("S\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("S\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			f, rest, ok, err := cutFrame(b)
			if !ok {
				if len(rest) != len(b) {
					t.Error("bytes were lost")
				}
				if err == nil && len(b) > header+longest {
					t.Error("it waits for more bytes than a frame can have")
				}
				return
			}
			if whole := append(f.encode(), rest...); !bytes.Equal(whole, b) {
				t.Errorf("%q was read as %q and %q", b, f.encode(), rest)
			}
			b = rest
			if task, err := f.startOrder(); err == nil && !bytes.Equal(task.frame().body, f.body) {
				t.Errorf("%q was read as %+v", f.body, task)
			}
			if r, err := f.checkStart(); err == nil && !bytes.Equal(r.frame().body, f.body) {
				t.Errorf("%q was read as %+v", f.body, r)
			}
			_ = f.failure()
		}
	})
}
