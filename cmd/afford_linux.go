package cmd

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// freeTasks is how many more tasks the user may have.
func freeTasks() int {
	var limit unix.Rlimit
	if os.Geteuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur >= manyTasks {
		return manyTasks // root has no limit
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return manyTasks
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	free := int(limit.Cur)
	for _, name := range names {
		var threads unix.Stat_t
		if _, err := strconv.Atoi(name); err == nil && unix.Stat("/proc/"+name+"/task", &threads) == nil && int(threads.Uid) == os.Geteuid() {
			free -= int(threads.Nlink) - 2 // the directory has one for each thread
		}
	}
	return free
}
