package output

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
)

// Events writes one line of JSON per transition. A full or closed sink never stops the job.
type Events struct {
	runner.Unobserved
	sink *Sink
}

// OpenEvents opens the value of --events: a file to append to, or a descriptor that is
// already open. "-" is standard output. With "" events are dropped.
func OpenEvents(to string) (*Events, error) {
	switch to {
	case "":
		return &Events{}, nil
	case "-":
		to = "fd:1"
	}
	if n, ok := strings.CutPrefix(to, "fd:"); ok {
		fd, err := strconv.Atoi(n)
		if err != nil || fd < 0 {
			return nil, locks.Usagef("--events %s is not a file descriptor", Quote(to))
		}
		if !isInherited(fd) {
			return nil, locks.Usagef("--events %s: the descriptor is not open", to)
		}
		return &Events{sink: NewSink(os.NewFile(uintptr(fd), to))}, nil
	}
	s, err := appendTo(to)
	if err != nil {
		return nil, locks.Usagef("--events: %v", err)
	}
	return &Events{sink: s}, nil
}

// appendTo opens a file to append lines to it.
func appendTo(name string) (*Sink, error) {
	f, err := openToAppend(name)
	if err != nil {
		return nil, err
	}
	return sinkOf(wholeWriter{w: f, name: name}), nil
}

// openToAppend opens a file without waiting. A FIFO without a reader can be opened without
// waiting only for reading and writing. A reader that opens it while we run gets what was
// written.
func openToAppend(name string) (*os.File, error) {
	const (
		flags = os.O_APPEND | os.O_CREATE | syscall.O_NONBLOCK
		mode  = 0o644 // less the umask, like any file of the user's
	)
	f, err := os.OpenFile(name, os.O_WRONLY|flags, mode)
	if errors.Is(err, syscall.ENXIO) {
		return os.OpenFile(name, os.O_RDWR|flags, mode)
	}
	return f, err
}

// Event writes the line of an event.
func (l *Events) Event(e event.Event) {
	if l.sink == nil {
		return
	}
	line, err := json.Marshal(e)
	if err != nil { // a time beyond the year 9999
		return
	}
	_, _ = l.sink.Write(append(line, '\n'))
}

// Close writes what is still queued. It returns why some events were not written, or nil.
func (l *Events) Close() error {
	if l.sink == nil {
		return nil
	}
	l.sink.Close()
	return l.sink.Lost()
}
