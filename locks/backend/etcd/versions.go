package etcd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// The release lines of etcd, 3.x, that leaderrun is tested with.
const (
	oldestMinor = 4
	newestMinor = 7
)

// A flaw is something that was wrong in a release line 3.minor until a release
// mended it.
type flaw struct {
	minor, mended int
	level, text   string
}

// flaws lists what matters to locks, the worst first. The releases are those of
// etcd's own change logs (github.com/etcd-io/etcd, CHANGELOG/CHANGELOG-3.x.md), and,
// for 3.5.2 and before, of the recommendation in CHANGELOG/README.md there.
func flaws() []flaw {
	const (
		crash  = "after a crash under load the members' data may differ (etcd-io/etcd#13766)"
		auth   = "with authentication on, the members' data may differ (etcd-io/etcd#11651)"
		former = "a leader whose disk hangs renews leases that its cluster lets run out (etcd-io/etcd#15247)"
		early  = "a leader that had stalled may end leases too early (etcd-io/etcd#15247), and a watch may miss events (etcd-io/etcd#17529)"
		renews = "a renewal may succeed although the lease has just ended (etcd-io/etcd#14758)"
	)
	return []flaw{
		{5, 3, locks.LevelError, crash}, {4, 8, locks.LevelError, auth},
		{5, 13, locks.LevelError, former}, {4, 31, locks.LevelError, former},
		{5, 13, locks.LevelWarning, early}, {4, 31, locks.LevelWarning, early},
		{6, 5, locks.LevelWarning, renews}, {5, 23, locks.LevelWarning, renews}, {4, 38, locks.LevelWarning, renews},
	}
}

// versionFindings judges the versions, of which there may be several during an
// upgrade.
func versionFindings(up []member) (all []locks.Finding) {
	var versions []string
	for _, m := range up {
		if !slices.Contains(versions, m.Version) {
			versions = append(versions, m.Version)
		}
	}
	for _, v := range versions[:min(len(versions), 8)] {
		all = append(all, judge(v))
	}
	return all
}

// judge tells the worst that is known of a version.
func judge(version string) locks.Finding {
	f := locks.Finding{Check: "version", Level: locks.LevelOK, Text: version}
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 || major < 3 || major == 3 && minor < oldestMinor {
		f.Level, f.Text = locks.LevelError, fmt.Sprintf("%q is none that leaderrun works with", version)
		f.Fix = fmt.Sprintf("upgrade to 3.%d or later", oldestMinor)
		return f
	}
	if major > 3 || minor > newestMinor {
		f.Text += ", which is newer than what leaderrun was tested with"
		return f
	}
	var texts []string
	for _, flaw := range flaws() {
		if flaw.minor != minor || flaw.mended <= patch {
			continue
		}
		texts = append(texts, flaw.text)
		if f.Level == locks.LevelOK {
			f.Level = flaw.level
		}
		f.Fix = fmt.Sprintf("upgrade to 3.%d.%d or later", minor, flaw.mended)
	}
	if len(texts) > 0 {
		f.Text += ": " + strings.Join(texts, "; ")
	}
	return f
}
