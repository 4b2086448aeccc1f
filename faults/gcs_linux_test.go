package faults

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
)

const gcsObject = "faults/" + lockName

// gcsFaults returns the faults of a service that consists of many servers, and may answer
// anything.
func gcsFaults(s *gcstest.Server, strict bool) []fault {
	all := []fault{
		{"server restarted", func(n *nemesis, _ *machine) bool {
			s.Stop()
			n.pass()
			s.Start()
			return true
		}},
		{"server frozen", func(n *nemesis, _ *machine) bool {
			over := make(chan struct{})
			s.Fault(func(gcstest.Request) gcstest.Fault { return gcstest.Fault{Late: over} })
			n.pass()
			close(over)
			s.Fault(nil)
			return true
		}},
		gcsAnswers(s, "429 too many requests", 70, gcstest.Fault{Status: http.StatusTooManyRequests, Reason: "rateLimitExceeded"}),
		gcsAnswers(s, "503 unavailable", 70, gcstest.Fault{Status: http.StatusServiceUnavailable, Reason: "backendError"}),
		gcsAnswers(s, "412 precondition failed", 30, gcstest.Fault{Status: http.StatusPreconditionFailed, Reason: "conditionNotMet"}),
		gcsAnswers(s, "credentials withdrawn", 100, gcstest.Fault{Status: http.StatusForbidden, Reason: "forbidden"}),
		gcsAnswers(s, "credentials expired", 100, gcstest.Fault{Status: http.StatusUnauthorized, Reason: "authError"}),
		gcsAnswers(s, "requests duplicated", 50, gcstest.Fault{Twice: true}),
		gcsAnswers(s, "answers lost", 50, gcstest.Fault{LoseReply: true}),
		gcsAnswers(s, "requests lost", 50, gcstest.Fault{Drop: true}),
		gcsDates(s, "dates 20 s ahead", 20*time.Second, strict), gcsDates(s, "dates 20 s behind", -20*time.Second, strict),
	}
	if strict {
		all = append(all, gcsOperator(s)...)
	}
	return all
}

// gcsAnswers makes the given percentage of requests fail.
func gcsAnswers(s *gcstest.Server, name string, share int, f gcstest.Fault) fault {
	return fault{name, func(n *nemesis, _ *machine) bool {
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(n.rand.Uint64(), 0))
		s.Fault(func(gcstest.Request) gcstest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if r.IntN(100) < share {
				return f
			}
			return gcstest.Fault{}
		})
		n.pass()
		s.Fault(nil)
		return true
	}}
}

// gcsDates makes a proxy rewrite the dates of answers. Without strict takeover a lease may then end
// early if its holder is silent, too: see docs/safety.md. So nothing keeps it from renewing.
func gcsDates(s *gcstest.Server, name string, by time.Duration, strict bool) fault {
	return fault{name, func(n *nemesis, _ *machine) bool {
		if !strict {
			n.c.calm.Lock()
			defer n.c.calm.Unlock()
		}
		s.Fault(func(gcstest.Request) gcstest.Fault {
			return gcstest.Fault{Header: func(h http.Header) { h.Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat)) }}
		})
		n.pass()
		s.Fault(nil)
		return true
	}}
}

// gcsOperator ends running terms.
func gcsOperator(s *gcstest.Server) []fault {
	return []fault{gcsEviction(s, "lock deleted", s.Delete), gcsEviction(s, "lock overwritten", s.Rewrite)}
}

func gcsEviction(s *gcstest.Server, name string, evict func(object string)) fault {
	return fault{name, func(*nemesis, *machine) bool {
		o, ok := s.Object(gcsObject)
		if !ok || !strings.Contains(o.Metadata["leaderrun"], `"held"`) {
			return false // nobody has the lock
		}
		evict(gcsObject)
		return true
	}}
}
