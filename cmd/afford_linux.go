package cmd

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// freeTasks is how many more tasks the user may have.
func freeTasks() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur >= manyTasks || unlimited() {
		return manyTasks
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

// unlimited reports whether the limit is none for us: root has none, and who may raise it.
func unlimited() bool {
	const exempt = 1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_SYS_ADMIN
	var have [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &have[0])
	return os.Getuid() == 0 || err == nil && have[0].Effective&exempt != 0
}
