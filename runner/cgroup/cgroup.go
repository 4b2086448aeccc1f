// Package cgroup keeps one job in one cgroup (version 2, Linux). No process leaves it by
// setsid, by a double fork, or by forking faster than anybody can look, and the kernel
// kills it as a whole.
//
// The group is made below our own cgroup, and the job is started in it. The job may nest
// more groups in it, make those threaded, or freeze them: its processes stay inside. (The
// kernel does not make a cgroup threaded that has processes, so none can escape cgroup.kill
// that way.) No controllers are enabled, so the rule that forbids processes in inner nodes
// does not apply.
//
// # Limits
//
// A cgroup contains a careless job, not a hostile one: a process that may write to our own
// cgroup may move processes out of the group. Processes that others start for the job
// (systemd-run, docker, at) are not in the group. A process in an uninterruptible sleep dies
// when the sleep ends, and counts until then.
//
// Our limits of memory and CPU apply to the group. But a program that reads limits only in
// its own cgroup, and not in those above, finds none.
package cgroup
