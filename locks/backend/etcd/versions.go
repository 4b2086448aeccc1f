package etcd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// oldestMinor is the oldest release line of etcd, 3.x, that leaderrun works with.
const oldestMinor = 4

// A defect is in the releases of the line 3.minor before 3.minor.fixed.
type defect struct {
	minor, fixed int
	text         string
}

// defects lists those that can give a lock to two leaders, or lose an acknowledged write,
// whatever leaderrun does. The releases are those of etcd's change logs
// (github.com/etcd-io/etcd, CHANGELOG/CHANGELOG-3.x.md), and, for 3.5.2 and before, of the
// recommendation in CHANGELOG/README.md there. Other defects are not listed: a watch may
// miss events (#17529), but renewals also read the queue; a renewal may succeed just after
// the end of a lease (#14758), but then it is too late for the holder.
func defects() []defect {
	const (
		// Members that differ show different leaders of one queue.
		crash = "after a crash under load the members' data may differ (etcd-io/etcd#13766)"
		auth  = "with authentication on, the members' data may differ (etcd-io/etcd#11651)"
		// The next waiter leads before the holder's lease ends. The same defect also makes
		// such a leader renew leases by itself, which Renew detects.
		early = "a leader that had stalled may end leases too early (etcd-io/etcd#15247)"
	)
	return []defect{{5, 3, crash}, {4, 8, auth}, {5, 13, early}, {4, 31, early}}
}

// versionFindings reports each release with a defect. There may be several during an upgrade.
func versionFindings(up []member) (all []locks.Finding) {
	var seen []string
	for _, m := range up {
		if f := versionFinding(m.Version); f.Text != "" && !slices.Contains(seen, m.Version) && len(seen) < 8 {
			seen, all = append(seen, m.Version), append(all, f)
		}
	}
	return all
}

// versionFinding has no text if no defect is known.
func versionFinding(version string) locks.Finding {
	f := locks.Finding{Check: "version", Level: locks.LevelError}
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 || major < 3 || major == 3 && minor < oldestMinor {
		f.Text, f.Fix = fmt.Sprintf("leaderrun does not work with version %q", version), fmt.Sprintf("upgrade to 3.%d or later", oldestMinor)
		return f
	}
	var texts []string
	for _, d := range defects() {
		if major == 3 && d.minor == minor && patch < d.fixed {
			texts = append(texts, d.text)
			f.Fix = fmt.Sprintf("upgrade to 3.%d.%d or later", minor, d.fixed)
		}
	}
	if len(texts) > 0 {
		f.Text = version + ": " + strings.Join(texts, "; ")
	}
	return f
}
