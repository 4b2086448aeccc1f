// Package bench measures leaderrun against flock(1) and `etcdctl lock`:
//
//	make bench
//
// builds the programs as they are released, runs them and their peers in turn (A B A B …)
// on one machine, and writes RESULTS.md. Slow times do not fail a run: a figure that
// misses its target is reported as such. But a command that fails, prints to standard
// error, or overlaps with another holder of the same lock does fail the run. With
// BENCH_BEFORE=DIR, the programs of an earlier build in DIR are measured, too. Linux only.
package bench
