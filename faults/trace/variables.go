package trace

import (
	"os"
	"strconv"
)

// The environment variables of a fleet's programs.
const (
	// CookieVariable says which of them belong together: exactly those with the same
	// value.
	CookieVariable = "FLEET_COOKIE"
	// FileVariable names the file of entries.
	FileVariable = "FLEET_TRACE"
	// HostVariable is the host that the job runs on.
	HostVariable = "FLEET_HOST"
	// AheadVariable holds Ahead.
	AheadVariable = "FLEET_AHEAD"
	// RegisterVariable names the file of the fenced register.
	RegisterVariable = "FLEET_REGISTER"
	// BusyVariable names a file: while it exists, jobs continue.
	BusyVariable = "FLEET_BUSY"
	// TasksVariable has a number and a cgroup directory: there a job limits the tasks of
	// its host to that many more than exist.
	TasksVariable = "FLEET_TASKS"
	// PeerVariable is set if the job is run by a peer of leaderrun: to the peer's process
	// id, or, if that is not known yet, to something that is not an id.
	PeerVariable = "FLEET_PEER"
)

// PeerOf returns the process id of the peer of leaderrun that runs us; 0 if leaderrun
// runs us.
func PeerOf() int {
	pid, _ := strconv.Atoi(os.Getenv(PeerVariable)) // 0 if it is not set
	return pid
}
