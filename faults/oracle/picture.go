package oracle

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// picture writes what porcupine shows of an illegal history to a new file in a
// directory: a row for each term, and the faults.
func (f *fence) picture(dir string, r result, faults []trace.Entry, began clock.Instant) (file string, err error) {
	chosen := f.around(r)
	ops := f.chosen(chosen)
	from, to := clock.Never, clock.Instant(0)
	row := map[int]int{}
	for n, i := range chosen {
		t := f.terms[i]
		row[t.number] = n
		from, to = min(from, t.First), max(to, t.Last)
	}
	for i := range ops {
		op := &ops[i]
		op.Metadata = f.describe(*op, began)
		op.ClientId = row[op.ClientId]
	}
	model := fencedMutex(f.tokens, 0)
	_, info := porcupine.CheckOperationsVerbose(model, ops, time.Minute)
	info.AddAnnotations(annotations(faults, from, to))
	out, err := os.CreateTemp(dir, "history-*.html")
	if err != nil {
		return "", err
	}
	return out.Name(), errors.Join(porcupine.Visualize(model, info, out), out.Close())
}

// describe says which term an operation belongs to, and when it happened in milliseconds,
// because the checker has its own time scale.
func (f *fence) describe(op porcupine.Operation, began clock.Instant) string {
	t := f.terms[op.ClientId-1]
	until := "never"
	if op.Return != int64(clock.Never) {
		until = since(began, clock.Instant(op.Return/2))
	}
	return fmt.Sprintf("term %d on host %s, leaderrun %d, from %s to %s ms", t.number, t.host, t.pid, since(began, clock.Instant(op.Call/2)), until)
}

// annotations returns the faults between two moments.
func annotations(faults []trace.Entry, from, to clock.Instant) (all []porcupine.Annotation) {
	for _, e := range faults {
		if e.Call > to || e.At < from {
			continue
		}
		all = append(all, porcupine.Annotation{Tag: "faults", Start: int64(e.Call)*2 + 1, End: int64(e.At) * 2, Description: fault(e)})
	}
	return all
}

// fault describes a fault in words.
func fault(e trace.Entry) string {
	if e.Host == "" {
		return e.What + ", of the server"
	}
	return e.What + ", of host " + e.Host
}

// since returns a moment in milliseconds after another.
func since(began, at clock.Instant) string {
	return fmt.Sprintf("%.1f", float64(at.Sub(began))/float64(time.Millisecond))
}
