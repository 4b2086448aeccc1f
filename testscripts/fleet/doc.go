// Package fleet tests what a fleet of hosts sees over a whole day of cron: with real
// programs, real servers and, on each host, its own clock. Faults of hosts, servers and
// networks are the fault suite's (package faults).
//
//	go test ./testscripts/fleet                                  # a short run on three stores, half a minute
//	LEADERRUN_TEST_LONG=1 go test ./testscripts/fleet            # all stores, 40 windows
//	FLEET_TIMES=5 go test -v -timeout 60m ./testscripts/fleet    # 5 times that
//	LEADERRUN_TEST_SEED=7 go test -v ./testscripts/fleet         # what a run with this seed did
//
// A seed decides what is planned, but not how the machine interleaves it.
//
// In TestDay five hosts run a job from cron, which must succeed once in each window. Some
// of the jobs fail, and jobs, guards and leaderruns are killed.
//
// The programs are testdata/leaderrun, which is the real one except for its clock, the
// real helper programs, and as the job faults/testdata/subject. All of them record what
// they do (package trace), and the checks at the end use only these records.
package fleet
