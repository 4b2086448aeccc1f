package output

import "log/slog"

// journalPrefix is what begins a line of systemd's journal, so that it can be looked
// for by how grave it is: journalctl -p warning.
func journalPrefix(journal bool, l slog.Level) string {
	switch {
	case !journal:
		return ""
	case l >= slog.LevelError:
		return "<3>"
	case l >= slog.LevelWarn:
		return "<4>"
	case l >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}
