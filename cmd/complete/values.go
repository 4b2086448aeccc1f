package complete

import (
	"context"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// openLimit is how long a backend may take to open, and listLimit how long it may take to
// open and to list its locks. listLimit is longer, and both are less than completionLimit,
// so that there is time to end a helper program, or to kill it if it does not respond.
const (
	openLimit = 500 * time.Millisecond
	listLimit = 700 * time.Millisecond
)

// value completes a part of an option's value. The prefix precedes it in the same word.
func (t *typed) value(ctx context.Context, o *options.Option, prefix, part string) completion {
	words := func(all []candidate) completion {
		return completion{"words", prefix, beginning(part, all)}
	}
	switch o.Name {
	case "config", "log-file", "events", "metrics-file":
		return completion{kind: "files", what: prefix}
	case "on-standby", "on-elected", "on-resign", "on-lost", "health":
		if prefix == "" {
			return commandAt(len(t.before))
		}
		return completion{}
	case "backend":
		return words(t.backends(part))
	case "lock":
		return words(t.lockNames(ctx))
	case "job":
		return words(plainWords(t.Jobs()))
	case "once-per":
		return words(plainWords([]string{"hour", "day", "week"}))
	case "signal":
		return words(signalNames(part))
	}
	return words(plainWords(o.Words()))
}

// signalNames returns names that are spelled like the part, with SIG or without.
func signalNames(part string) []candidate {
	prefix := ""
	if strings.HasPrefix(part, "S") && strings.HasPrefix("SIG", part[:min(3, len(part))]) {
		prefix = "SIG"
	}
	var all []candidate
	for _, name := range signals.Names() {
		all = append(all, candidate{word: prefix + name})
	}
	return all
}

// backends returns the installed backends, by name and as the beginning of a URL.
func (t *typed) backends(part string) []candidate {
	switch {
	case strings.Contains(part, "?"):
		return parameters(part)
	case strings.HasPrefix(part, "file://"):
		return directories(part)
	}
	schemes := t.env.Registry.Schemes()
	for _, helper := range t.env.Programs.List() {
		if helper.Err == nil {
			schemes = append(schemes, helper.Scheme)
		}
	}
	slices.Sort(schemes)
	var all []candidate
	for _, scheme := range slices.Compact(schemes) {
		about := known.Find(scheme)
		if about == nil {
			about = new(backend.Info)
		}
		all = append(all, candidate{scheme, about.Limits}, candidate{scheme + "://", about.URL})
	}
	return all
}

// parameters returns the URL with each parameter that it lacks, after its last "?" or "&".
// It does not show a URL that may have a password.
func parameters(part string) []candidate {
	u, err := locks.Parse(part)
	if err != nil || strings.Contains(part, "@") {
		return nil
	}
	about := known.Find(u.Scheme)
	if about == nil {
		return nil
	}
	head := part[:strings.LastIndexAny(part, "?&")+1]
	_, query, _ := strings.Cut(head, "?")
	var all []candidate
	for _, p := range about.Params {
		if strings.HasPrefix(query, p.Name+"=") || strings.Contains(query, "&"+p.Name+"=") {
			continue
		}
		if p.Words == nil {
			all = append(all, candidate{head + p.Name + "=", p.Usage})
		}
		for _, word := range p.Words {
			all = append(all, candidate{head + p.Name + "=" + word, p.Usage})
		}
	}
	return all
}

// directories returns the subdirectories of the directory in a part of a file URL.
func directories(part string) []candidate {
	dir, base := path.Split(strings.TrimPrefix(part, "file://"))
	at, err := url.PathUnescape(dir)
	if dir == "" {
		return []candidate{{word: "file:///"}}
	}
	entries, _ := os.ReadDir(at)
	var all []candidate
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(base, ".")
		if err == nil && e.IsDir() && !hidden {
			name := (&url.URL{Path: e.Name()}).EscapedPath()
			all = append(all, candidate{word: "file://" + dir + name + "/"})
		}
	}
	return all
}

// lockNames returns the names of the locks that the backend knows. Subcommands that inspect
// locks also accept the name of a slot.
func (t *typed) lockNames(ctx context.Context) []candidate {
	backend, err := t.Backend()
	if err != nil {
		return nil
	}
	at, err := locks.Parse(backend)
	if err != nil {
		return nil
	}
	names := map[string]string{}
	for _, l := range t.list(ctx, at) {
		base, slot := locks.CutSlot(l.Name)
		switch {
		case locks.CheckSlotName(l.Name) != nil: // the backend may not be ours
		case slot < 0:
			names[base] = state(l.Status)
		case names[base] == "":
			names[base] = "with slots"
		}
		if slot > 0 && t.Command.Name != "run" && t.Command.Name != "doctor" {
			names[l.Name] = state(l.Status)
		}
	}
	var all []candidate
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, candidate{name, names[name]})
	}
	return all
}

func state(s locks.Status) string {
	if !s.Held {
		return "free"
	}
	if s.Holder == "" {
		return "held"
	}
	return "held by " + locks.Printable(s.Holder)
}

// list returns the locks of a backend, or nil if that fails or takes too long.
func (t *typed) list(ctx context.Context, at *url.URL) (all []locks.Listed) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	lock, err := t.env.Registry.Open(ctx, at, locks.Options{
		Name:           "leaderrun", // any name is fine
		Holder:         env.NewID(),
		TTL:            options.NewValues().TTL.D,
		ConnectTimeout: openLimit,
		Version:        t.env.Version,
	})
	if err != nil {
		return nil
	}
	defer func() { _ = lock.Close() }() // it holds nothing
	if locks.Require(ctx, lock, "", locks.CanList) != nil {
		return nil
	}
	page := func(cursor string) ([]locks.Listed, string, error) { return lock.(locks.Lister).List(ctx, cursor) }
	if locks.Pages(page, func(page []locks.Listed) { all = append(all, page...) }) != nil {
		return nil // an incomplete list would look complete
	}
	return all
}
