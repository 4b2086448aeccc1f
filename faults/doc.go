// Package faults is the fault suite: it shows that no part of a job runs when
// anyone else can hold its lock, on every backend, with real processes and servers,
// while a nemesis does to them what production does, and worse.
//
// A cell is one lock of one backend and the hosts that contend for it. Each host has
// its own network (package host) and starts one leaderrun after the other. Their jobs
// (testdata/subject) record every two milliseconds that they are alive, and write to a
// register that is fenced by their tokens. Most jobs are short and have one process; the
// others ignore signals, leave processes behind, fork, hide, stop or meet a limit of
// tasks. One leaderrun in ten is a service, with hooks, health checks and --rejoin. Operators
// ask holders to resign, and take locks away from them. A lock with slots is judged slot by
// slot. The nemesis draws its faults from a seed; while a fault lasts, the jobs that it may
// end do not end by themselves. Package oracle judges the records and leaderrun's output.
//
//	make faults                                     15 minutes of each cell, one a processor at a time
//	make faults FAULTS_AT_ONCE=8                    sooner, but processes wait for a processor: see the report
//	make faults FAULTS_MINUTES=60 FAULTS_SEED=7     an hour, with the seed of another run
//	make faults FAULTS_BACKEND=etcd                 the cells whose names begin so
//	make faults FAULTS_ONLY='killed|frozen'         the faults whose names match
//	make faults FAULTS_JOBS='headless|pooling'      the jobs whose manners match
//
// make faults keeps the result of each cell in faults/parts. A run that was interrupted continues with
// the cells that are left, or were shorter, or whose programs are others now, also on another machine,
// if the parts are committed until the report is written. Without that directory all are run again.
//
// It writes RESULTS.md, unless it selects cells, faults or jobs. Its summary has to be copied into
// README.md: a test in docs compares them. Without these variables, as in make test, the suite is
// short, with LEADERRUN_TEST_LONG=1 less so, and it reports only violations. The seed determines the schedule of faults, but not the exact times at which
// they strike, because machines differ in speed. If a machine lacks something, such as
// cgroups for a user other than root, the faults that need it are left out, and the report
// says so. After a violation all records are kept, in FAULTS_KEEP if that is set.
package faults
