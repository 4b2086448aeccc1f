// Package host makes the hosts of a fleet on one machine, and the means to harm
// them: network, CPU, disk, descriptors and processes. It is for tests, on Linux.
//
// As root each host has a network namespace of its own, which a veth pair connects
// to that of the test. Its processes reach servers only through proxies, which
// listen on the test's end of the pair. So there are two places to do harm:
//
//   - At the proxies (package faultproxy), where connections end: delay, throttle,
//     reset, refuse. Each proxy is before one server.
//   - Below TCP, between the two ends of the pair: [Host.Blackhole] and its like
//     lose packets, and nobody is told. A lost frame is sent to a hardware address
//     that nobody has, and so dropped by the receiving end. A route of the type
//     blackhole would not do: it gives the sender an error at once.
//
// Each has cgroups of its own, too, for a quota of CPU time ([Host.Starve]) and a limit
// of tasks ([Host.LimitTasks]), and a small file system, and a command may be shown but
// a part of the processes ([Cmd.Hide]). Whatever a machine has not is in [Host.Lacks].
//
// Without root only the proxies are left, and a black hole is one of theirs.
//
// # What remains after a test process that was killed
//
// What was started by [Cmd.Start] dies with it, and so does a leaderrun's job. A
// namespace has no name, and ends with its last process. The cgroups and the mounts
// stay, and as root processes that were stopped; they are found by the test process's
// id in the names, and the next call of [New] by any process ends them. Without
// root, a guard that was stopped when the test process was killed stays, and its job.
//
// # What is left out
//
// Duplicated and reordered packets: the kernel need not have netem, and TCP hides
// both from the programs. A limit of memory: what the kernel's OOM killer does is to
// send SIGKILL to a process of its choice, and [Host.Signal] sends it to any.
package host
