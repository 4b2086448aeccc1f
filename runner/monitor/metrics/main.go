// Package metrics exports the state of a run: to Prometheus, over HTTP or through
// node_exporter's textfile collector, and to the health checks of a container.
package metrics

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/program/isolate"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// writePause is the shortest time between two writes of the file.
const writePause = time.Second

// maxLine is the greatest length of a line of the feed, in bytes.
const maxLine = 64 << 10

// Main exports the run that package feed describes on standard input, until that ends,
// and returns the exit status. It logs to standard error.
func Main() int {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	isolate.Process()
	if err := export(os.Stdin, log); err != nil {
		log.Error("received invalid input from leaderrun", "err", err.Error())
		return 70
	}
	return 0
}

// export exports the run that the input describes, until the input ends.
func export(from io.Reader, log *slog.Logger) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	first, err := next(lines)
	if err != nil || first == nil {
		return err
	}
	if first.Open == nil {
		return errors.New("the first line is none that opens")
	}
	s := newState(clock.Boot{}, *first)
	registry := newRegistry(s)
	if s.open.Listen != "" {
		addr, server, err := serve(s, registry)
		if err != nil {
			log.Warn("metrics are not served", "err", err.Error())
		} else {
			log.Info("serving metrics", "addr", addr.String())
			defer func() { _ = server.Close() }()
		}
	}
	w := newWriter(s, registry, log)
	defer w.close()
	for {
		l, err := next(lines)
		if err != nil || l == nil {
			s.end()
			return err
		}
		s.learn(*l)
		if l.Event != nil {
			w.changed()
		}
	}
}

// next returns the next line of the feed, or nil at the end of the input.
func next(lines *bufio.Scanner) (*feed.Line, error) {
	if !lines.Scan() {
		return nil, lines.Err()
	}
	var l feed.Line
	if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
		return nil, err
	}
	return &l, nil
}
