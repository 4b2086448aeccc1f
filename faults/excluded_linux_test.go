package faults

// excluded is the report's list of what the suite does not do.
const excluded = `
- **Faults that end a lease early** (an operator takes the lock away with ` + "`release --force`" + `, or deletes it, its row or its table, a
  lease is revoked or broken, a session is ended by force, a node of Consul deregistered; on
  etcd also a leader that was frozen and wakes up, see etcd-io/etcd#15247) happen only to
  the histories in mode strict, which run with ` + "`--takeover strict`" + `. Without it, the next
  holder may start at the moment at which the previous one learns of its loss, and the kill
  takes some milliseconds: only the fencing token helps then. On quorum, a lock that is taken away is
  nobody's until the job is dead, so that happens there as well. Where each host has an agent of
  Consul, sessions end early too: whoever wants such a lock first watches it for the length of its lease.
  On file, deleting a lock file gives the next holder a new lock, and there is no lease to wait for.
- **gossip**, where the oldest leads, excludes nobody. Its row shows what happens, and
  is not part of leaderrun's sum.
- **Both killers frozen at once** happens only with their whole machine, job and all, which nothing
  can help: see "after a thaw". With the job alone running, it would outlive its lease; its token
  would be refused.
- **Both killers killed at once** happens only to jobs of one process, or in a pid
  namespace, where the kernel kills the rest. A job of several processes would outlive
  the two.
- **A limit of tasks** is set when a job begins or later, when leaderrun, its guard and
  its helper already run. Go aborts any program that gets no thread at its start.
- **Packets duplicated or reordered**: the kernel here cannot make them. TCP hides both.
  For the messages of quorum, over UDP, they are in the deterministic tier
  (locks/backend/quorum/votes). Requests are duplicated on gcs and spanner.
- **Wall clocks and clock rates** are changed where dates say how old a lease is: those of
  the servers of postgres and mysql are slewed by a twelfth and set 20 s forward, and a proxy
  rewrites the dates of gcs by 20 s in both directions. The clock by which a server of ZooKeeper ends
  sessions is slewed by a twelfth as well, where there is one server. If the holder cannot renew meanwhile, a
  later date may end its lease early (see docs/safety.md); so that is left to the histories in
  mode strict, and in the others a date is set forward while no fault hits a host. There it is set back, too:
  in mode strict rows and the table are deleted, and then tokens go on from the date, and would fall. The leases of
  azblob, consul, etcd, kubernetes and zookeeper do not depend on dates. Other clocks are in the deterministic tier
  (TestElections in runner/guard and in locks/backend/quorum/votes), with suspends. The boot
  clocks of the hosts of quorum and gossip are set days apart.
- **Answers of a balancer** (503) are made over HTTP/1.1 only. With etcd and spanner, its
  connections are reset or freeze while new ones work, as with all others.
- **Credentials** are withdrawn on etcd, gcs, mysql, postgres and spanner. Those of ZooKeeper
  are part of each node, and a server asks for them when the node is used. consul is run
  without access control, and the emulator of azblob has one key for all.
- **A full disk** is the host's own disk, with leaderrun's socket and events; no server's
  disk is full. With file, a full lock directory matters only to a lock's first holder.
- **Out of memory** is the limit of one host, while its job is one that both killers may leave
  alone: see above. The kernel kills the largest process first, mostly leaderrun or its helper.
- **A cluster in two halves** that each have hosts: one member of three is cut off from the
  others, mostly the leader, and the hosts still reach all of them. With consul they name
  only one. The hosts of quorum and gossip are their members, and are cut off from each other.
- **Many started at once** are 50 to 100 runs with ` + "`-n`" + ` on one host, on file, etcd, postgres and quorum.
  A processor shared by all cells does not bear more. Each ends with 75 while another host leads and
  nothing else happens, or with 69 if the machine is too busy for an answer within two seconds.
- **A dead first address** is the first of two that a host names: with etcd, ZooKeeper,
  postgres and mysql, on all hosts but the first. With azblob, consul and gcs it is the first of two
  addresses of the one name that they have. Hosts name the others by one address.
- **A failover to a replica** that lacks the last writes may grant a held lock again, with a token
  that was granted before. So the row of postgres with an asynchronous standby shows what happens,
  as that of gossip does. In all other rows postgres and mysql are one server each. A pooler
  leads to a standby for a while, which refuses every write.
- **azblob, gcs and spanner are emulators** that enforce all preconditions. They keep their
  data in memory, or lose it unless they end in order: so they are frozen and restarted, but
  not killed. The answers that gcs and spanner invent follow the services' documentation.
- **Leases of azblob** are never shorter than 15 s, whatever a run asks for.
- **Jobs that take up to 20 s to end** have that time on etcd, with leases of 10 s and faults six times
  as far apart. A job that was killed as its lease ended is in order; a fault that may have killed
  it or its guard leaves it out.
- **Windows of --once-per** are judged if somebody has skipped them, and so has read in the lock's
  record who succeeded, or if a job of a leaderrun that was started in them succeeded. If leaderrun
  ended before it could record a success, or says so, another success is allowed: at least once.
- **Priorities** are judged when a term begins while others have waited for three seconds, and no fault
  has struck these, the server or the network since they were started. Where all runs have one, faults are
  five times as far apart. In other cells of etcd and zookeeper a tenth of the runs have one.
- **Peers** have no guard and no helper, so only they themselves are killed and frozen
  ("leaderrun" means the peer there), and none meets a limit of tasks. Each of their jobs
  is one process. At the end they are killed, and what they leave then is not counted. flock(1)
  has no lease: its job inherits the lock, and keeps it when flock is killed. client-go has no
  program: its elector here runs a command while it leads, kills it when it no longer does, and
  ends, as wrappers do. consul lock has leases of 15 s, and an equal delay after a loss, so where it
  takes part, faults are five times as far apart.
- **A peer that contends** for a lock with leaderrun must find nothing of leaderrun's job. leaderrun
  must find nothing of the peer's, unless a fault struck that, the server or the network between
  them: then the peer's job may outlive its lease. flock's cannot, so nothing excuses it.
`
