package faults

// excluded is what the report says of what the suite does not do.
const excluded = `
- **What ends a lease early** (an operator deletes the lock, a lease is revoked, a
  session ended by force; on etcd also a leader that was frozen and wakes up, see
  etcd-io/etcd#15247) is done to the histories in mode strict only, which run with
  ` + "`--takeover strict`" + `. Without it the next holder may begin at the same moment at
  which the one before learns of its loss, and the kill takes some milliseconds:
  nothing but the fencing token helps then. On file, whoever deletes a lock file gives
  the next one a new lock, and there is no lease to wait for.
- **Both killers frozen at once**, and a frozen machine: nothing can kill what it
  would have to run for. The job may be there when the lease is over, or for a moment
  after the machine has gone on; its token is refused.
- **Both killers killed at once** is done to jobs of one process, or in a pid
  namespace, where the kernel kills the rest. A job of several processes would outlive
  the two.
- **A limit of tasks** is set when a job begins or later: leaderrun, its guard and its
  helper are there then. Go aborts a program that it can give no thread when it starts, whoever wrote it.
- **Packets duplicated or reordered**: TCP hides both, and the kernel here cannot make
  them. Requests are duplicated where they are HTTP (gcs).
- **Wall clocks and clock rates** cannot be changed for one process of this machine.
  They are in the deterministic tier (runner/guard, TestElections), with suspends.
- **Credentials of ZooKeeper** are not withdrawn: they are a part of each node, and a
  server asks for them when the node is used. Those of etcd and gcs are.
- **A full disk** is the host's own, with leaderrun's socket and events. A lock
  directory of file that is full matters to a lock's first holder alone.
- **Out of memory**: the kernel sends SIGKILL to a process of its choice, which the
  suite does to each of them in turn.
- **A member cut off from its cluster**: members are killed, stopped and frozen, and
  each host is cut off from one or all; the links between members are not cut.
- **gcs is an emulator**, one that enforces all preconditions. Its answers of 403, 412,
  429 and 503 are made up after the documentation of the service.
- **Peers** have no guard and no helper, so that only they themselves are killed and
  frozen ("leaderrun" means the peer there), and none meets a limit of tasks. Their jobs
  are of one process each. consul lock has leases of 15 s, and a delay of as much after
  one was lost: with a fault every few seconds it has the lock too seldom for its row to
  tell much.
`
