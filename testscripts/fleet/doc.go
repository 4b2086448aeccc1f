// Package fleet is what a fleet of hosts sees, over a whole day and through many
// faults: real programs, real servers and, on each host, a clock of its own.
//
//	go test ./testscripts/fleet                                  # a short run, half a minute
//	LEADERRUN_TEST_LONG=1 go test ./testscripts/fleet            # a minute: 40 windows, 8 faults
//	FLEET_TIMES=5 go test -v -timeout 60m ./testscripts/fleet    # 5 times that
//	LEADERRUN_TEST_SEED=7 go test -v ./testscripts/fleet         # what a run with this seed did
//
// A seed decides what is planned, and not how the machine interleaves it.
//
// In TestDay five hosts run a job from cron, to succeed once in each window; some
// of the jobs fail, and jobs, guards and leaderruns are killed. In TestService
// three hosts run a service, under faults of the service, of its host and of the
// server.
//
// What is run is the program in testdata/leaderrun, the real one but for its
// clock, with the real helper programs, and as the job the one in
// faults/testdata/subject. All of them write down what they do (package trace), and what
// must hold is checked at the end, against these records and nothing else.
package fleet
