package docs

import (
	"strings"
	"testing"
	"time"
)

// TestWrongDocs checks that mistakes in a file are found, with their line.
func TestWrongDocs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"true", "```sh\ntrue\n```\n\n```console\n$ echo a; echo b\na\n…\n```\n", ""},
		{"command", "a\n\n```sh\ntrue\nleaderrun --no-such-option -- true\ntrue\n```\n", "5: exit status 64"},
		{"no command", "```sh\nno-such-command\n```\n", "2: exit status 127"},
		{"output", "```console\n$ true\n$ leaderrun -- echo 75\n76\n```\n", "3: printed was\n75\n\ninstead of\n76"},
		{"less output", "```console\n$ echo a; echo b\na\n```\n", "2: printed was\na\nb\n"},
		{"more output", "```console\n$ echo a\na\nb\n```\n", "2: printed was\na\n"},
		{"later output", "```console\n$ (sleep 1; echo later) &\n$ wait\n```\n", "3: printed was\nlater\n"},
		{"error", "```console\n$ leaderrun -- false\n$ leaderrun -E 300 -- true\n```\n", "3: printed was\nleaderrun: error: "},
		{"config", "```yaml\nttl: 15s\nttk: 15s\n```\n", "exit status 78"},
		{"unit", "```ini\n[Service]\nExecStart=/no/such/program\n```\n", "exit status 1"},
		{"cron", "```crontab\nPATH=/usr/local/bin:/usr/bin:/bin\n* * * * * leaderrun true\n0 3 * * * leaderrun -- false\n```\n", "4: exit status 1"},
		{"cron's path", "```crontab\n* * * * * leaderrun true\n```\n", "2: exit status 127"},
		{"json", "```json\n{\"a\":1}\n{a:1}\n```\n", "3: invalid JSON"},
		{"language", "```\n$ true\n```\n", "1: unknown language"},
		{"hidden commands", "```text\n$ false\n```\n", "1: there are commands"},
		{"comment", "<!-- not run, as I say so -->\n```sh\nfalse\n```\n", "1: the comment is not a known directive"},
		{"stray comment", "<!-- not run: somewhere else -->\n\n```sh\nfalse\n```\n", "2: the comment above has no block"},
		{"not run", "<!-- not run: it fails -->\n```sh\nfalse\n```\n", ""},
		{"instead", "<!-- run instead: true -->\n```sh\nfalse\n```\n", ""},
		{"wrong instead", "<!-- run instead:\ntrue\nfalse\n-->\n```sh\ntrue\n```\n", "3: exit status 1"},
		{"hidden", "<!-- run: echo a >file -->\ntext\n```console\n$ cat file\na\n```\n", ""},
		{"file", "<!-- file: job.sh -->\n```sh\necho 'it is'\necho \"$1\"\n```\n\n```console\n$ sh job.sh 'a b'\nit is\na b\n```\n", ""},
		{"terminals", "<!-- goes on: it reads -->\n```console\n$ mkfifo p\n$ cat p; echo end\n```\n<!-- terminal: 2 -->\n```console\n$ echo a >p\n```\n```console\na\nend\n```\n", ""},
		{"other terminal", "<!-- goes on: it reads -->\n```console\n$ mkfifo p\n$ cat p; echo end\n```\n<!-- terminal: 2 -->\n```console\n$ echo b >p\n```\n```console\na\nend\n```\n", "11: printed was\nb\nend\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			switch err := run(t, "wrong.md", tt.text, 2*time.Second); {
			case err == nil && tt.want != "":
				t.Errorf("no error; want %q", tt.want)
			case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
