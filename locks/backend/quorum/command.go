package quorum

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/voter"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/program/isolate"
	"github.com/leaderrun/leaderrun/locks/program/version"
)

// The exit statuses of a voter, as those of leaderrun.
const (
	exitUsage       = 64
	exitUnavailable = 69
)

const usage = `Usage: leaderrun-quorum voter -b quorum://h1,h2,h3?key-file=FILE [--seat HOST]

Votes for the locks of runs with the same URL. One voter stands on each host that the URL
names, apart from all runs, from boot to shutdown; see leaderrun-backends(7).

`

// Voter runs a standing voter with the arguments of the command line, until TERM or INT, and
// returns the exit status.
func Voter(args []string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: plain}))
	switch err := runVoter(args, log); {
	case err == nil, errors.Is(err, flag.ErrHelp), errors.Is(err, context.Canceled): // by a signal
		return 0
	case errors.Is(err, locks.ErrUsage):
		fmt.Fprintf(os.Stderr, "leaderrun-quorum: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(os.Stderr, "leaderrun-quorum: %v\n", err)
		return exitUnavailable
	}
}

// plain leaves the time out of what goes to the journal, which has it.
func plain(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 && os.Getenv("JOURNAL_STREAM") != "" {
		return slog.Attr{}
	}
	return a
}

func runVoter(args []string, log *slog.Logger) error {
	flags := flag.NewFlagSet("voter", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is printed once
	backend := os.Getenv("LEADERRUN_BACKEND")
	flags.StringVar(&backend, "b", backend, "`URL` of the locks, as for leaderrun [$LEADERRUN_BACKEND]")
	flags.StringVar(&backend, "backend", backend, "the same `URL`")
	keys := flags.String("key-file", "", "`FILE` with the keys, instead of the one that the URL names: runs and the voter may get the same keys from different files")
	seat := flags.String("seat", os.Getenv("LEADERRUN_QUORUM_SEAT"), "`HOST` of the URL that this host is, with its port if it has one there; unless given, the one whose address is this machine's [$LEADERRUN_QUORUM_SEAT]")
	runtime := flags.String("runtime-dir", cmp.Or(os.Getenv("RUNTIME_DIRECTORY"), "/run/leaderrun-quorum"), "`DIRECTORY` on a tmpfs, for promises")
	state := flags.String("state-dir", cmp.Or(os.Getenv("STATE_DIRECTORY"), "/var/lib/leaderrun-quorum"), "`DIRECTORY` for what must stay: the voter's id, its greatest token, records")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(os.Stdout)
			_, _ = fmt.Fprint(os.Stdout, usage)
			flags.PrintDefaults()
			return err
		}
		return locks.Usagef("%v; see leaderrun-quorum voter -h", err)
	}
	u, err := address(backend, *keys)
	if err != nil || flags.NArg() > 0 {
		return locks.Usagef("want -b quorum://h1,h2,h3?key-file=FILE and nothing else; see leaderrun-quorum voter -h")
	}
	s, err := parse(u, os.Getenv)
	if err != nil {
		return err
	}
	isolate.Memory() // it has the key
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	n, err := s.seat(ctx, *seat, log)
	if err != nil {
		return err
	}
	v, err := voter.New(voter.Config{
		Group: s.group, Names: s.names, Seat: n, Keys: s.secrets, Runtime: absolute(*runtime), State: absolute(*state), Version: version.Number(), Log: log,
	})
	if err != nil {
		return fmt.Errorf("cannot vote: %w", err)
	}
	defer v.Close()
	if s.group.Seats%2 == 0 {
		log.Warn("an even number of hosts tolerates no more failures than one host less")
	}
	return v.Run(ctx, func(at []netip.AddrPort) {
		log.Info("stands", "seat", s.names[n], "addr", fmt.Sprint(at), "id", v.ID())
		notify("READY=1")
	})
}

// address parses the URL, or the bare name, of the backend. Keys are those of another file, if one
// is named.
func address(backend, file string) (*url.URL, error) {
	if backend == "quorum" {
		backend += ":"
	}
	u, err := url.Parse(backend)
	if err == nil && u.Scheme != "quorum" {
		err = locks.Usagef("it is not of quorum")
	}
	if err != nil || file == "" {
		return u, err
	}
	q := u.Query()
	q.Set("key-file", file)
	u.RawQuery = q.Encode()
	return u, nil
}

func absolute(dir string) string {
	if at, err := filepath.Abs(dir); err == nil {
		return at
	}
	return dir
}

// seat returns which seat this host has. While names cannot be looked up, it waits.
func (s *settings) seat(ctx context.Context, name string, log *slog.Logger) (int, error) {
	if name != "" {
		name = strings.ToLower(name)
		for i, full := range s.names {
			if host, _, _ := net.SplitHostPort(full); full == name || host == name {
				return i, nil
			}
		}
		return 0, locks.Usagef("--seat %s is none of the hosts that the URL names: %s", name, strings.Join(s.names, ", "))
	}
	for said := false; ; {
		seats, err := s.ours(ctx)
		switch {
		case len(seats) == 1 && err == nil:
			return seats[0], nil
		case len(seats) > 1:
			return 0, locks.Usagef("more than one host of the URL is this machine; name its seat with --seat")
		case err == nil:
			return 0, locks.Usagef("no host of the URL has an address of this machine, besides loopback ones; name its seat with --seat, and see /etc/hosts")
		case !said:
			log.Warn("waiting until all hosts of the URL can be looked up", "err", err)
			said = true
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// ours returns the seats that have an address of this machine. An error says that some cannot be
// looked up.
func (s *settings) ours(ctx context.Context) (seats []int, failed error) {
	for i, name := range s.names {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		at, err := hosts.Addresses(ctx, name)
		cancel()
		if err != nil {
			failed = err
		}
		if slices.ContainsFunc(at, func(a netip.AddrPort) bool { return !a.Addr().IsLoopback() && hosts.Ours(a.Addr()) }) {
			seats = append(seats, i)
		}
	}
	return seats, failed
}

// notify tells the service manager; see sd_notify(3).
func notify(text string) {
	at := os.Getenv("NOTIFY_SOCKET")
	if at == "" {
		return
	}
	if conn, err := net.Dial("unixgram", at); err == nil { //nolint:gosec // the manager names it. Go takes "@" for the abstract namespace
		_, _ = conn.Write([]byte(text))
		_ = conn.Close()
	}
}
