package guard

import (
	"encoding/binary"
	"errors"
	"slices"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// The kinds of frames; see the package documentation.
const (
	kindReady        = 'R'
	kindFiles        = 'W'
	kindEntrust      = 'O'
	kindStart        = 'S'
	kindDeadline     = 'D'
	kindSignal       = 's'
	kindStop         = 't'
	kindKill         = 'K'
	kindStarted      = 'P'
	kindFailed       = 'E'
	kindNotContained = 'N'
	kindKilling      = 'k'
	kindExited       = 'X'
	kindSuspended    = 'T'
	kindGone         = 'G'

	kindCheckPart    = 'A'
	kindCheck        = 'B'
	kindKillCheck    = 'b'
	kindCheckStarted = 'p'
	kindCheckFailed  = 'e'
	kindCheckExited  = 'x'
)

// Which files come with kindFiles.
const (
	filesHold = 1 << iota
	filesRelease
)

// How a job starts.
const (
	startsForeground = 1 << iota
	startsWithoutInput
	startsUnknown // this flag and all higher ones
)

// What is added to a wait status.
const (
	goneToo = 1 << (32 + iota) // nothing else is left
	overdue                    // the guard has killed the job at its deadline
)

const header = 5

// longest is the maximum length of a frame. On Linux, arguments and environment have at most
// 6 MiB.
const longest = 16 << 20

// A frame is one message.
type frame struct {
	kind byte
	body []byte
}

func (f frame) encode() []byte {
	b := binary.BigEndian.AppendUint32([]byte{f.kind}, uint32(len(f.body)))
	return append(b, f.body...)
}

// cutFrame returns the first frame of b, and the rest; ok is false if b has no whole frame.
func cutFrame(b []byte) (f frame, rest []byte, ok bool, err error) {
	if len(b) < header {
		return frame{}, b, false, nil
	}
	n := binary.BigEndian.Uint32(b[1:header])
	if n > longest {
		return frame{}, b, false, errFrame
	}
	end := header + int(n)
	if len(b) < end {
		return frame{}, b, false, nil
	}
	return frame{b[0], slices.Clone(b[header:end])}, b[end:], true, nil
}

var errFrame = errors.New("invalid frame")

func number(kind byte, n int64) frame {
	return frame{kind, binary.BigEndian.AppendUint64(nil, uint64(n))}
}

// number returns the n of a frame that the function number made.
func (f frame) number() (int64, error) {
	if len(f.body) != 8 {
		return 0, errFrame
	}
	return int64(binary.BigEndian.Uint64(f.body)), nil
}

// exitOf returns the Exit that the guard reports as n.
func exitOf(n int64) proc.Exit { return proc.ExitOf(syscall.WaitStatus(n)) }

// A startOrder is the content of a start frame.
type startOrder struct {
	killBy  clock.Instant
	tty     bool // the job's group becomes the terminal's foreground group
	command proc.Command
	message []byte
	remove  []string

	containment Tier
}

func (t startOrder) frame() frame {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.killBy))
	var flags byte
	if t.tty {
		flags |= startsForeground
	}
	if t.command.NoInput {
		flags |= startsWithoutInput
	}
	b = appendCommand(append(b, flags), t.command)
	b = appendTexts(appendText(b, string(t.message)), t.remove)
	return frame{kindStart, appendText(b, string(t.containment))}
}

func (f frame) startOrder() (t startOrder, err error) {
	b := &body{rest: f.body}
	t.killBy = clock.Instant(b.number(8))
	flags := b.number(1)
	t.command = b.command()
	t.tty, t.command.NoInput = flags&startsForeground != 0, flags&startsWithoutInput != 0
	t.message, t.remove = []byte(b.text()), b.texts()
	t.containment = Tier(b.text())
	if b.short || len(b.rest) > 0 || flags >= startsUnknown {
		return startOrder{}, errFrame
	}
	return t, nil
}

// A checkStart is the content of an order to start a health check.
type checkStart struct {
	number  int64 // among those of the job
	command proc.Command
}

func (r checkStart) frame() frame {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.number))
	return frame{kindCheck, appendCommand(b, r.command)}
}

// part is the maximum length of one part of a checkStart. An order to signal or to kill does
// not wait until the whole environment is sent.
const part = 32 << 10

// parts splits the frame of a checkStart. The last part has its kind.
func (f frame) parts() (all []frame) {
	for len(f.body) > part {
		all = append(all, frame{kindCheckPart, f.body[:part]})
		f.body = f.body[part:]
	}
	return append(all, f)
}

func (f frame) checkStart() (checkStart, error) {
	b := &body{rest: f.body}
	r := checkStart{int64(b.number(8)), b.command()}
	if b.short || len(b.rest) > 0 {
		return checkStart{}, errFrame
	}
	return r, nil
}

// A started describes a job that was started.
type started struct {
	pid  int
	tier Tier
	why  string // no stronger tier is used
	path string // of its cgroup, if it has one
}

func (s started) frame() frame {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.pid))
	b = appendText(appendText(b, string(s.tier)), s.why)
	return frame{kindStarted, appendText(b, s.path)}
}

func (f frame) started() started {
	b := &body{rest: f.body}
	return started{int(b.number(8)), Tier(b.text()), b.text(), b.text()}
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func appendTexts(b []byte, all []string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(all)))
	for _, s := range all {
		b = appendText(b, s)
	}
	return b
}

func appendCommand(b []byte, c proc.Command) []byte {
	return appendTexts(appendTexts(appendText(b, c.Path), c.Args), c.Env)
}

// A body is read from its front. When it is too short, all reads return zero.
type body struct {
	rest  []byte
	short bool
}

func (b *body) take(n uint64) []byte {
	if b.short || n > uint64(len(b.rest)) {
		b.short = true
		return nil
	}
	taken := b.rest[:n]
	b.rest = b.rest[n:]
	return taken
}

func (b *body) number(size uint64) (n uint64) {
	for _, c := range b.take(size) {
		n = n<<8 | uint64(c)
	}
	return n
}

func (b *body) text() string { return string(b.take(b.number(4))) }

func (b *body) texts() (all []string) {
	for n := b.number(4); n > 0 && !b.short; n-- {
		all = append(all, b.text())
	}
	return all
}

func (b *body) command() proc.Command {
	return proc.Command{Path: b.text(), Args: b.texts(), Env: b.texts()}
}

// failure returns why a command was not started.
func (f frame) failure() error {
	n, err := f.number()
	if err != nil {
		return err
	}
	return syscall.Errno(n)
}
