package known

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// File describes the backend file.
var File = backend.Info{
	Scheme:  "file",
	NoLease: true,
	Folder:  "file",
	BuiltIn: true,

	URL:         "file:///dir",
	HeldUntil:   "the process ends",
	Token:       "counter in the lock file",
	Order:       "usually first come, first served",
	NotifiedBy:  "flock(2)",
	Learns:      "at once on Linux, elsewhere within 2s; it cannot be taken away",
	Needs:       "one machine, a local file system",
	Permissions: "read and write a directory that you or root own and that only you or root can write, or that a group shares",
	Limits:      "one machine; no network file systems",
	Cost:        "12 KiB of disk per lock ever used, until leaderrun forget deletes them",

	Params: []backend.Param{
		{Name: "fs", Usage: "accept a file system that is not known to be local", Words: []string{"any"}, About: backend.Refusal},
	},
	Variables: []backend.Variable{
		{Name: "LEADERRUN_FILE_DIR", About: backend.Address},
		{Name: "HOME", About: backend.Address, Ambient: true},
		{Name: "USERPROFILE", About: backend.Address, Ambient: true},
	},
	Keeps: true,
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanProbe, locks.CanForget,
	},
}
