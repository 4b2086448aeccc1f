package helper

import (
	"encoding/base64"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A server, or a proxy before it, may repeat a request in its error, with the credentials in
// it. So whatever a helper reports in prose, and logs, loses all secrets that the helper
// knows: the password of the URL, the variables that the backend names, and the words of the
// files that these or the URL's parameters name.

// minSecret is the length of a secret that is replaced, in bytes. A shorter one occurs in
// ordinary words.
const minSecret = 4

// secrets are those of one backend.
type secrets struct {
	mu   sync.Mutex
	url  *url.URL   // nil: unknown yet
	lock locks.Lock // nil: unknown yet
}

func (s *secrets) set(u *url.URL, lock locks.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url, s.lock = u, lock
}

// hider returns a function that replaces each secret in a text by "xxxxx".
func (s *secrets) hider() func(text string) string {
	var pairs []string
	for _, secret := range s.all() {
		if len(secret) >= minSecret {
			pairs = append(pairs, secret, "xxxxx")
		}
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string {
		text = known.Replace(text)
		for _, scheme := range []string{"Bearer ", "Basic "} { // tokens that a library has fetched
			text = hideAfter(text, scheme)
		}
		return text
	}
}

// all returns the secrets, as they may occur in a request. The longest forms come first,
// because a Replacer takes the first that matches.
func (s *secrets) all() (all []string) {
	s.mu.Lock()
	u, lock := s.url, s.lock
	s.mu.Unlock()
	if u == nil {
		return nil
	}
	if password, ok := u.User.Password(); ok {
		all = append(all, forms(u.User.Username()+":"+password)...)
	}
	for param, values := range u.Query() {
		if strings.HasSuffix(param, "file") {
			all = append(all, wordsOf(values[0])...)
		}
	}
	if lock == nil {
		return all
	}
	for _, variable := range locks.SecretEnv(lock) {
		value := os.Getenv(variable)
		if strings.HasSuffix(variable, "USER") && !strings.Contains(value, ":") {
			continue // the name without the password
		}
		if filepath.IsAbs(value) && !strings.HasSuffix(value, "=") { // a key in base64 may begin like a path
			all = append(all, wordsOf(value)...)
		} else {
			all = append(all, forms(value)...)
		}
	}
	if sender, ok := lock.(locks.SecretSender); ok {
		for _, secret := range sender.SentSecrets() {
			all = append(all, forms(secret)...)
		}
	}
	return all
}

// forms returns a secret, its parts that are secret on their own, and how they are encoded.
func forms(secret string) []string {
	parts := []string{secret}
	for part := range strings.FieldsFuncSeq(secret, func(r rune) bool { return r == ';' || r == '&' }) {
		name, value, ok := strings.Cut(part, "=")
		if name = strings.ToLower(name); ok && (strings.Contains(name, "key") || strings.Contains(name, "sig")) {
			parts = append(parts, value) // of a connection string, or a SAS token
		}
	}
	if user, password, ok := strings.Cut(secret, ":"); ok {
		parts = append(parts, password)
		if i := strings.LastIndex(password, ":"); i >= 0 && user == "digest" { // of ZooKeeper
			parts = append(parts, password[i+1:])
		}
	}
	var all []string
	for _, p := range parts {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(p)), url.QueryEscape(p), url.PathEscape(p), p)
	}
	return all
}

// wordsOf returns the secrets in a file of which each line is one, or ends in one after a
// colon, such as ~/.pgpass. Keys and files of other kinds are never sent.
func wordsOf(file string) (all []string) {
	const limit = 64 << 10
	if fi, err := os.Stat(file); err != nil || !fi.Mode().IsRegular() || fi.Size() > limit {
		return nil
	}
	text, _ := os.ReadFile(file)
	if strings.HasPrefix(string(text), "-----") || strings.ContainsAny(string(text), `"[{`) {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		all = append(all, forms(line)...)
		all = append(all, line[strings.LastIndex(line, ":")+1:])
	}
	return all
}

// hideAfter replaces the word after each occurrence of a prefix.
func hideAfter(text, prefix string) string {
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(text, prefix)
		b.WriteString(head)
		if !ok {
			return b.String()
		}
		b.WriteString(prefix + "xxxxx")
		text = rest[len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return r != ' ' && r != '\r' && r != '\n' && r != '"' })):]
	}
}

// logged is a ReplaceAttr of package slog. It hides secrets, and writes durations as text, not
// as nanoseconds.
func (s *secrets) logged(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case time.Duration:
		a.Value = slog.StringValue(v.String())
	case string:
		a.Value = slog.StringValue(s.hider()(v))
	case error:
		a.Value = slog.StringValue(s.hider()(v.Error()))
	}
	return a
}
