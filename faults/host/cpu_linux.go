package host

import (
	"fmt"
	"strconv"
	"time"
)

// period is the period of the quota: the host runs for its share of each period, and
// not at all for the rest of it. It is the kernel's default.
const period = 100 * time.Millisecond

// Starve leaves all processes of the host together percent of one CPU, from 1 on,
// until Feed.
func (h *Host) Starve(percent int) error {
	if h.cpu == nil {
		return h.lacks[CPU]
	}
	return h.cpu.quota(strconv.FormatInt(period.Microseconds()*int64(percent)/100, 10))
}

// Feed ends Starve.
func (h *Host) Feed() error {
	if h.cpu == nil {
		return nil
	}
	return h.cpu.feed()
}

func (g *group) feed() error {
	if g.v2 {
		return g.quota("max")
	}
	return g.quota("-1")
}

func (g *group) quota(micros string) error {
	if g.v2 {
		return g.write("cpu.max", fmt.Sprint(micros, " ", period.Microseconds()))
	}
	return g.write("cpu.cfs_quota_us", micros)
}
