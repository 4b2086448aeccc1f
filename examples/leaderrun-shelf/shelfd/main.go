// Shelfd is a small HTTP server that keeps documents, and changes one only if it is as its
// client has read it. It stands for your store: leaderrun-shelf keeps locks in it.
//
//	shelfd ADDRESS FILE
//
// GET, PUT and DELETE of a path work as usual. A path that ends with a slash is a list of
// the paths below it. Each change of any document gets a number, greater than all
// before, which is its ETag; the conditions If-Match and If-None-Match: * are for PUT and
// DELETE. Answers have, by one clock, when the document was changed and what time it is.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: shelfd ADDRESS FILE")
	}
	s := &shelf{file: os.Args[2], start: time.Now(), Documents: map[string]document{}}
	if err := s.load(); err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: os.Args[1], Handler: s, ReadTimeout: time.Minute}
	log.Fatal(server.ListenAndServe())
}

// A shelf is all documents, by path.
type shelf struct {
	file  string
	start time.Time // of this process
	mu    sync.Mutex

	Documents map[string]document
	Changes   uint64    // the number of the last one; it outlives deleted documents
	Latest    time.Time // no later change is dated before it, although a restart has another clock
}

type document struct {
	Made, Changed uint64 // the number of its first and of its last change
	At            time.Time
	Body          []byte
}

func (s *shelf) load() error {
	b, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, s)
}

// save keeps what a restart must find. It survives the death of this process; to survive
// that of the machine, it would also have to be synced.
func (s *shelf) save() error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(s.file+".new", s.file)
}

// ServeHTTP implements [http.Handler].
func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, found := s.Documents[r.URL.Path]
	switch {
	case strings.HasSuffix(r.URL.Path, "/"):
		for _, path := range slices.Sorted(maps.Keys(s.Documents)) {
			if strings.HasPrefix(path, r.URL.Path) {
				_, _ = io.WriteString(w, path+"\n")
			}
		}
	case r.Method == http.MethodGet && !found:
		http.Error(w, "there is no such document", http.StatusNotFound)
	case r.Method == http.MethodGet:
		s.show(w, d)
	case r.Method != http.MethodPut && r.Method != http.MethodDelete:
		http.Error(w, "GET, PUT or DELETE", http.StatusMethodNotAllowed)
	case !holds(r.Header, d):
		http.Error(w, "the document is not as it was", http.StatusPreconditionFailed)
	default:
		s.change(w, r, d, body)
	}
}

// holds reports whether a document, of which there may be none, meets the conditions.
func holds(h http.Header, d document) bool {
	match := h.Get("If-Match")
	return (match == "" || match == d.tag()) && (h.Get("If-None-Match") == "" || d.Changed == 0)
}

func (d document) tag() string { return `"` + strconv.FormatUint(d.Changed, 10) + `"` }

func (s *shelf) change(w http.ResponseWriter, r *http.Request, d document, body []byte) {
	s.Changes++
	if s.Latest = s.Latest.Add(time.Microsecond); s.now().After(s.Latest) {
		s.Latest = s.now()
	}
	d.Changed, d.At, d.Body = s.Changes, s.Latest, body
	if d.Made == 0 {
		d.Made = s.Changes
	}
	s.Documents[r.URL.Path] = d
	if r.Method == http.MethodDelete {
		delete(s.Documents, r.URL.Path)
	}
	if err := s.save(); err != nil {
		log.Fatal(err) // continuing could forget what was acknowledged
	}
	s.show(w, d)
}

// now is the time of our start plus what has passed since, by a clock that nobody can set:
// leases are judged by it.
func (s *shelf) now() time.Time { return s.start.Add(time.Since(s.start)).UTC() }

func (s *shelf) show(w http.ResponseWriter, d document) {
	h := w.Header()
	h.Set("ETag", d.tag())
	h.Set("Shelf-Made", strconv.FormatUint(d.Made, 10))
	h.Set("Shelf-Changed", d.At.Format(time.RFC3339Nano))
	h.Set("Shelf-Now", s.now().Format(time.RFC3339Nano))
	_, _ = w.Write(d.Body)
}
