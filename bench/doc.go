// Package bench measures leaderrun against flock(1) and `etcdctl lock`:
//
//	make bench
//
// builds the programs as they are released, runs them and their peers in turn (A B A B …)
// on one machine, and writes RESULTS.md, whose summary has to be copied into README.md. Slow
// times do not fail a run: a figure that misses its target is reported as such. But a command
// that fails, prints to standard error, or overlaps with another holder of the same lock does
// fail the run. With BENCH_BEFORE=DIR, the programs of an earlier build in DIR are measured,
// too. Linux only.
//
// Nothing is measured if the machine is busy, and nothing written if it was: if others use
// a tenth of the processors' time or more, in ten seconds before the run, in ten seconds
// after it, or during the run. Before and after, time in which a processor waits for a disk
// counts, too. During the run others are everything but the time of this process and its
// descendants; who waits for a disk then is unknown. The load average is reported, but
// decides nothing: it is high after a build. With BENCH_FORCE=1 a busy machine is measured,
// and the report says so.
//
// make soak watches for hours, on each store, that nothing grows while nothing happens, and
// writes SOAK.md. make sizes measures hand-overs among many waiters, and writes SIZES.md.
package bench
