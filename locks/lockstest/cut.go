package lockstest

import "fmt"

// Cut is a way to cut a network.
type Cut string

// The ways of cutting.
const (
	CutReplies Cut = "replies" // requests arrive, replies vanish
	CutAll     Cut = "all"     // nothing arrives either way
	CutReset   Cut = "reset"   // connections are reset and refused
)

// The ways of cutting only the connections that exist, for good, as if one address led to
// several servers, of which the first cannot serve. New connections work.
const (
	CutOld    Cut = "old" // they fall silent
	CutUnable Cut = "503" // each of their requests is answered with 503: see Config.HTTP
)

// CutNth returns a way of cutting: the nth request that clients send from now on, or a part of
// it, is held back until the cut is healed, and so is all that follows on its connection; 0 is the
// next. Other connections work. When the cut is healed, the request arrives, even if its client
// has given up.
func CutNth(n int) Cut { return Cut(fmt.Sprintf("request %d", n)) }

// Nth reports whether this is CutNth(n).
func (c Cut) Nth() (n int, ok bool) {
	_, err := fmt.Sscanf(string(c), "request %d", &n)
	return n, err == nil
}

// Lasting reports whether new connections are cut as well, until the cut is healed.
func (c Cut) Lasting() bool {
	_, one := c.Nth()
	return !one && c != CutOld && c != CutUnable
}
