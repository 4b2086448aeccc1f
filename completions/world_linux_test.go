package completions

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// A world is the environment of the tests' shells, none of which changes it: the real
// program, a helper of another backend, locks, jobs of a config file, commands, and
// files.
type world struct{ dir string }

var here world // set once by TestMain

var built programs.Programs

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "leaderrun-completions-")
	if err == nil {
		err = here.make(dir)
	}
	status := 1
	if err != nil {
		println(err.Error())
	} else {
		status = m.Run()
	}
	_ = os.RemoveAll(dir)
	built.Remove()
	os.Exit(status)
}

// texts are the files of a world.
var texts = map[string]string{
	"config.yaml":       "jobs:\n  nightly: {command: [report]}\n  night shift: {lock: x}\n",
	"home/cd/.keep":     "",
	"home/files.yaml":   "",
	"home/file one.txt": "",
	"home/own/.keep":    "",
	"bin/own-tool":      "#!/bin/sh\n",
	"bin/leaderrun-toy": "#!/bin/sh\n",

	// Our scripts (TestScripts compares them with the files), in a directory without odd
	// names.
	"scripts/leaderrun.bash": bash,
	"scripts/_leaderrun":     zsh,
	"scripts/leaderrun.fish": fish,

	// Other programs with the same name: one that reports what it was asked, one that
	// does not know the question, and one that gives an unknown kind of answer.
	"asked/leaderrun": "#!/bin/sh\nprintf 'words \\n%s\\n' asked\n",
	"older/leaderrun": "#!/bin/sh\necho words; echo older; echo oops >&2; exit 64\n",
	"newer/leaderrun": "#!/bin/sh\necho paragraphs; echo newer\n",
}

func (w *world) make(dir string) error {
	w.dir = dir
	for name, text := range texts {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			return err
		}
	}
	if err := built.Build(programs.Leaderrun); err != nil {
		return err
	}
	if err := os.Symlink(built.Path("leaderrun"), w.path("bin/leaderrun")); err != nil {
		return err
	}
	for _, lock := range []string{"jobs:eu", "jobs:us@2", "team/a-b", "team/x"} {
		run := exec.Command(w.path("bin/leaderrun"), "-l", lock, "--", "true")
		run.Env, run.Stderr = w.env(), os.Stderr
		if err := run.Run(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// env returns the whole environment of the shells. It leaves out the host's helpers and
// settings.
func (w *world) env() []string {
	return []string{
		"HOME=" + w.path("home"), "XDG_CONFIG_HOME=" + w.path("home"), "XDG_DATA_HOME=" + w.path("home"), "ZDOTDIR=/nowhere",
		"PATH=" + w.path("bin") + ":/usr/bin:/bin", "INPUTRC=/dev/null", "TERM=vt100", "LC_ALL=C.UTF-8",
		"LEADERRUN_FILE_DIR=" + w.path("locks"), "LEADERRUN_CONFIG=" + w.path("config.yaml"),
	}
}

// require skips a test if a program is missing, but fails it on machines that must test
// everything.
func require(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		_, err := exec.LookPath(program)
		if filepath.IsAbs(program) {
			_, err = os.Stat(program)
		}
		switch {
		case err == nil:
		case os.Getenv("CI") == "true":
			t.Fatal(err)
		default:
			t.Skip(err)
		}
	}
}
