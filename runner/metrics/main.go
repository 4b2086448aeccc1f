// Package metrics is the program leaderrun-metrics, which tells others how a run
// of leaderrun is: Prometheus, over HTTP or through node_exporter's textfile
// collector, and who looks after a container. It is a program of its own, as
// package net/http and Prometheus' library would make the core three times as
// large; and it cannot delay a kill.
package metrics

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/program/isolate"
	"github.com/leaderrun/leaderrun/locks/program/version"
	"github.com/leaderrun/leaderrun/runner/metrics/feed"
)

// writePause is the least time from one writing of the file to the next.
const writePause = time.Second

// maxLine is the most that a line of the feed may have, in bytes.
const maxLine = 64 << 10

// Main runs the program and returns its exit status. It reads lines of package
// feed from standard input, until that ends, and logs to standard error. With
// --version it tells its version.
func Main(args []string) int {
	if len(args) == 2 && args[1] == "--version" {
		fmt.Println("leaderrun-metrics", version.Number())
		return 0
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "leaderrun-metrics: it is leaderrun that starts this")
		return 64
	}
	isolate.Process()
	if err := export(os.Stdin, log); err != nil {
		log.Error("what leaderrun tells makes no sense", "err", err.Error())
		return 70
	}
	return 0
}

// export tells what it reads until the end of the input.
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

// next reads a line; nil at the end of the input.
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
