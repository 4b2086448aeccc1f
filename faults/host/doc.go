// Package host makes the hosts of a fleet on one machine, and the means to harm
// them: network, CPU, disk, descriptors and processes. It is for tests, on Linux.
//
// As root each host has its own network namespace, which a veth pair connects to that
// of the test. Its processes reach servers only through proxies, which listen on the
// test's end of the pair. So there are two places to do harm:
//
//   - At the proxies (package faultproxy), where connections end: delay, throttle,
//     reset, refuse. Each proxy is before one server.
//   - Below TCP, between the two ends of the pair: [Host.Blackhole] and similar
//     methods lose packets silently. A lost frame is sent to a hardware address that
//     nobody has, so the receiving end drops it. A route of the type blackhole would
//     not do: it gives the sender an error at once.
//
// Each host also has its own cgroups, for a quota of CPU time ([Host.Starve]), a limit of tasks
// ([Host.LimitTasks]) and one of memory ([Host.ExhaustMemory]), and a small file system. A command may see only some of
// the processes ([Cmd.Hide]). The boot clocks of hosts can be set apart, in time namespaces
// ([Options].Apart), but run at the same rate. [Host.Lacks] lists what the machine lacks.
//
// Without root only the proxies remain, and a proxy simulates the black hole.
//
// # What remains after a test process that was killed
//
// Processes started by [Cmd.Start] die with the test process, and so does a leaderrun's
// job. A namespace has no name, and ends with its last process. The cgroups and the
// mounts remain, and as root also stopped processes. Their names contain the test
// process's id, and the next call of [New] by any process ends them. Without root, a
// guard that was stopped when the test process was killed remains, with its job.
//
// # What is left out
//
// Duplicated and reordered packets: the kernel may lack netem, and TCP hides both from
// the programs.
package host
