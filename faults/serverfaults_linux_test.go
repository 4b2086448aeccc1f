package faults

import "time"

// A server can be harmed.
type server interface {
	Start()
	Stop()
	Kill()
	Pause()
	Resume()
}

// serverFaults returns the faults of one server.
func serverFaults(s server) []fault {
	return []fault{
		{"server restarted", func(n *nemesis, _ *machine) bool { return restart(n, s, s.Stop) }},
		{"server killed", func(n *nemesis, _ *machine) bool { return restart(n, s, s.Kill) }},
		{"server frozen", func(n *nemesis, _ *machine) bool { return pauseServer(n, s) }},
	}
}

// leaderFaults returns the faults of the member that leads a cluster.
func leaderFaults[S server](leader func() S) []fault {
	return []fault{
		{"leader killed", func(n *nemesis, _ *machine) bool { s := leader(); return restart(n, s, s.Kill) }},
		{"leader frozen", func(n *nemesis, _ *machine) bool { return pauseServer(n, leader()) }},
	}
}

func restart(n *nemesis, s server, end func()) bool {
	end()
	n.length = min(n.length, time.Second)
	n.pass()
	s.Start()
	return true
}

func pauseServer(n *nemesis, s server) bool {
	s.Pause()
	n.pass()
	s.Resume()
	return true
}
