// Package faults is the fault suite: it shows that nothing of a job runs when
// anyone else can hold its lock, on every backend, with real processes and servers,
// while a nemesis does to them what production does, and worse.
//
// A cell is one lock of one backend and the hosts that contend for it. Each host has
// a network of its own (package host) and starts one leaderrun after the other. Their
// jobs (testdata/subject) write down every two milliseconds that they live, and write
// to a register that is fenced by their tokens. Most are short and of one process; the
// others heed no signal, leave processes behind, fork, hide, stop or meet a limit of
// tasks. The nemesis draws its faults from a seed; as long as one lasts, the jobs that it
// may end do not end by themselves. What came of it is judged by package oracle, from the
// records and from what leaderrun has printed.
//
//	make faults                                     ten minutes of all cells
//	make faults FAULTS_MINUTES=60 FAULTS_SEED=7     an hour, as another one was
//	make faults FAULTS_BACKEND=etcd                 the cells whose names begin so
//	make faults FAULTS_ONLY='killed|frozen'         the faults whose names match
//	make faults FAULTS_JOBS='headless|pooling'      the jobs whose manners match
//
// make faults writes RESULTS.md, unless it was told which cells, faults or jobs.
// Without these variables, as in make test, the suite is short, with
// LEADERRUN_TEST_LONG=1 less so, and it reports only what is wrong. The schedule of
// faults follows from the seed; when exactly they strike does not, as machines have
// their own pace. What a machine has not, such as cgroups for another user than root, is
// not done to its hosts, and the report says so. If something is wrong, all that was
// written down is kept, in FAULTS_KEEP if that is set.
package faults
