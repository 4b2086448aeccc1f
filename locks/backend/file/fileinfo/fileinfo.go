// Package fileinfo describes the backend file.
package fileinfo

import (
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Info describes it.
var Info = backend.Info{
	Scheme:  "file",
	Folder:  "file",
	BuiltIn: true,

	URL:         "file:///dir",
	Liveness:    "the process lives",
	Token:       "a counter in the lock file",
	Order:       "usually first come, first served",
	Told:        "flock(2)",
	Permissions: "to read and write a directory that belongs to you or root, and that nobody else can write",
	Limits:      "one machine; no network file system",
	Price:       "12 KiB of disk for each lock that was ever used, until leaderrun forget",

	Params: []backend.Param{
		{Name: "fs", Usage: "a file system that is not known to be local", Words: []string{"any"}, About: backend.Refusal},
	},
	Variables: []backend.Variable{
		{Name: "LEADERRUN_FILE_DIR", About: backend.Address},
		{Name: "HOME", About: backend.Address, Ambient: true},
		{Name: "USERPROFILE", About: backend.Address, Ambient: true},
	},
	Abilities: []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanProbe, locks.CanForget,
	},
}
