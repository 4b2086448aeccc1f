// Package cgroup keeps one job in one cgroup (version 2, Linux): what no
// process of it leaves by setsid, double fork or forking faster than anybody
// can look, and what the kernel kills as a whole.
//
// The group is made below the cgroup that we are in ourselves, and the job is
// started in it. What the job makes of it, stays inside: it may nest more of
// them, with threads of their own, or freeze them. (The kernel makes no cgroup
// threaded that has processes, and so none can escape cgroup.kill by that.) No
// controllers are enabled, and so the rule that forbids processes in inner nodes
// does not apply.
//
// # Limits
//
// A cgroup keeps in what is careless, not what is hostile: who may write to the
// cgroup that we are in may move a process out of ours. Nor is a process inside
// that the job has others start for it (systemd-run, docker, at). A process in
// an uninterruptible sleep dies when that ends; until then it counts.
//
// Limits of memory and CPU hold in the group as they hold for us, but a program
// that reads them in its own cgroup only, and not in those above, finds none.
package cgroup
