package mysql

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.MySQL, "mysql://h/d", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}

// program returns the path of a program of MySQL or MariaDB.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		realserver.Missing(t, "there is no "+name)
	}
	return path
}

// TestTool checks that no variable and no option of the program mysql is ignored without a
// reason.
func TestTool(t *testing.T) {
	t.Parallel()
	backendtest.Tool(t, "testdata/variables.txt", backendtest.Variable(&known.MySQL))
	isKnown := func(name string) bool {
		if findOption(name) != nil {
			return true
		}
		if err := unabbreviated(name); err != nil {
			t.Error(err)
		}
		return false
	}
	backendtest.Tool(t, "testdata/options.txt", isKnown)
	out, err := exec.Command(program(t, "mariadb"), "--no-defaults", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	help, _, _ := strings.Cut(string(out), "Variables (--variable-name=value)")
	_, help, _ = strings.Cut(help, "-?, --help")
	var asked []string
	for _, m := range regexp.MustCompile(`(?m)^  (?:-., |    )?--([a-z0-9-]+)`).FindAllStringSubmatch(help, -1) {
		asked = append(asked, m[1])
	}
	if !slices.Contains(asked, "ssl-ca") {
		t.Fatalf("mariadb says that its options are %q", asked)
	}
	backendtest.Tool(t, "testdata/options.txt", isKnown, asked...)
}

// TestOptionFileAsTool compares what we read in option files with what my_print_defaults does.
func TestOptionFileAsTool(t *testing.T) {
	t.Parallel()
	print := program(t, "my_print_defaults")
	for _, value := range optionValues() {
		file := filepath.Join(t.TempDir(), "cnf")
		text := "[client]\npassword" + value + "\n[mysqldump]\npassword=other\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := exec.Command(print, "--defaults-file="+file, "client").Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := optionsOf(text)
		if text := fmt.Sprintf("--password=%s\n", got["password"]); err != nil || text != string(want) {
			t.Errorf("%q: got %q, %v; want %q", value, text, err, want)
		}
	}
}

// optionValues returns values as users write them.
func optionValues() []string {
	return []string{
		"=abc#def", "=abc #def", `="a#b"`, `='a b'`, `="a\\"b"`, `="a\"b"`, `='it\'s'`, `="abc" # it is "new"`, `=a\\b`, `=a\sb`, `=a\xb`, "=",
		`=""`, ` = "  x  "`, `="abc`, `="a'b"`, "=a;b", `=b\t.`, "=x\r", `="a#b" # c`, "=it's#x", `=abc\#def`, `="\\"`, `='"'`, `="a""b"`, `=a=b`, `=\`, "=é#",
	}
}
