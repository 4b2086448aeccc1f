package trace

import (
	"os"
	"strconv"
)

// What the environment of a fleet's programs says.
const (
	// CookieVariable says which of them belong together: what has the same value
	// there, and nothing else.
	CookieVariable = "FLEET_COOKIE"
	// FileVariable names the file of entries.
	FileVariable = "FLEET_TRACE"
	// HostVariable is the host that the job runs on.
	HostVariable = "FLEET_HOST"
	// RegisterVariable names the file of the fenced register.
	RegisterVariable = "FLEET_REGISTER"
	// BusyVariable names a file: as long as it is there, jobs go on.
	BusyVariable = "FLEET_BUSY"
	// TasksVariable has a number and a directory of the kernel's: there is a job to limit
	// the tasks of its host, to so many more than there are.
	TasksVariable = "FLEET_TASKS"
	// PeerVariable is set if the job is run by a peer of leaderrun: to the process
	// id of that, or, where it is not known yet, to something that is none.
	PeerVariable = "FLEET_PEER"
)

// PeerOf returns the process id of the peer of leaderrun that runs us; 0: leaderrun
// does.
func PeerOf() int {
	pid, _ := strconv.Atoi(os.Getenv(PeerVariable)) // 0 if it is not set
	return pid
}
