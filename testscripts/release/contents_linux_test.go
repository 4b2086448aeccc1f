package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// helpers are the packages in addition to the core's.
var helpers = func() (names []string) {
	for _, scheme := range known.Helpers() {
		names = append(names, "leaderrun-"+scheme)
	}
	return names
}()

// units are systemd's, by package.
var units = map[string]string{"leaderrun-quorum": "leaderrun-voter.service"}

// documents are in every archive.
var documents = []string{"LICENSE", "README.md", "CHANGELOG.md", "man/leaderrun.1", "man/leaderrun-backends.7", "man/leaderrun.yaml.5",
	"completions/leaderrun.bash", "completions/_leaderrun", "completions/leaderrun.fish", "leaderrun-voter.service"}

// checkArchives unpacks the archives, and runs the programs in them: the core must find
// the helper programs in its own directory.
func checkArchives(t *testing.T, dist string) {
	for _, tt := range []struct {
		name     string
		programs []string
	}{
		{"leaderrun_1*", append([]string{"leaderrun", "leaderrun-monitor"}, helpers...)},
		{"leaderrun-bundle_1*", []string{"leaderrun"}},
	} {
		packed := only(t, filepath.Join(dist, tt.name+".tar.gz"))
		dir := t.TempDir()
		output(t, "tar", "-xzf", packed, "-C", dir)
		for _, name := range slices.Concat(documents, tt.programs) {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s lacks %s", filepath.Base(packed), name)
			}
		}
		text, err := os.Open(packed)
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		checkModes(t, filepath.Base(packed), unzip(t, text))
		v := versionOf(t, output(t, filepath.Join(dir, "leaderrun"), "version", "-o", "json"))
		for _, h := range v.Helpers {
			if h.Path != filepath.Join(dir, h.Name) || h.Version != v.Version {
				t.Errorf("%s: got %+v, want the one beside leaderrun, of version %s", filepath.Base(packed), h, v.Version)
			}
		}
		if got, want := len(v.Helpers), len(tt.programs)-1; got != want {
			t.Errorf("%s: %d helper programs, want %d", filepath.Base(packed), got, want)
		}
	}
}

// checkCask checks that Homebrew's file names what is in the archive.
func checkCask(t *testing.T, dist string) {
	cask := read(t, filepath.Join(dist, "homebrew", "Casks", "leaderrun.rb"))
	for _, line := range []string{`binary "leaderrun"`, `manpage "man/leaderrun.1"`, `manpage "man/leaderrun.yaml.5"`,
		`bash_completion "completions/leaderrun.bash"`, `zsh_completion "completions/_leaderrun"`, `fish_completion "completions/leaderrun.fish"`} {
		if !strings.Contains(cask, "  "+line+"\n") {
			t.Errorf("the cask has no line %s:\n%s", line, cask)
		}
	}
	if strings.Contains(cask, "bundle") {
		t.Errorf("the cask contains the bundle:\n%s", cask)
	}
}

// checkContents checks the packages: their files, owners and modes.
func checkContents(t *testing.T, dist string) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		realserver.Missing(t, "dpkg-deb is missing")
	}
	core := []string{"usr/bin/leaderrun", "usr/libexec/leaderrun/leaderrun-monitor",
		"usr/share/man/man1/leaderrun.1.gz", "usr/share/man/man7/leaderrun-backends.7.gz", "usr/share/man/man5/leaderrun.yaml.5.gz",
		"usr/share/bash-completion/completions/leaderrun", "usr/share/fish/vendor_completions.d/leaderrun.fish",
		"usr/share/doc/leaderrun/README.md", "usr/share/doc/leaderrun/changelog.gz", "usr/share/doc/leaderrun/copyright"}
	zsh := map[string]string{"deb": "usr/share/zsh/vendor-completions/_leaderrun", "apk": "usr/share/zsh/site-functions/_leaderrun"}
	for _, name := range append([]string{"leaderrun"}, helpers...) {
		deb := only(t, filepath.Join(dist, name+"_1*.deb"))
		apk, err := os.Open(only(t, filepath.Join(dist, name+"_1*.apk")))
		if err != nil {
			t.Fatal(err)
		}
		defer apk.Close()
		for kind, r := range map[string]io.Reader{"deb": bytes.NewReader(output(t, "dpkg-deb", "--fsys-tarfile", deb)), "apk": unzip(t, apk)} {
			got := checkModes(t, name+"."+kind, r)
			want := append(slices.Clone(core), zsh[kind])
			if name != "leaderrun" {
				want = []string{"usr/libexec/leaderrun/" + name, "usr/share/doc/" + name + "/changelog.gz", "usr/share/doc/" + name + "/copyright"}
				if unit := units[name]; unit != "" {
					want = append(want, "usr/lib/systemd/system/"+unit)
				}
			}
			for _, file := range want {
				if !slices.Contains(got, file) {
					t.Errorf("%s.%s lacks %s; it has %q", name, kind, file, got)
				}
			}
		}
		control := string(output(t, "dpkg-deb", "--ctrl-tarfile", deb))
		for _, script := range []string{"preinst", "postinst", "prerm", "postrm", "config"} {
			if strings.Contains(control, "./"+script) {
				t.Errorf("%s has the script %s", deb, script)
			}
		}
	}
}

// checkModes checks everything in a tar, and returns the names of its files. Files
// outside of usr are the metadata of an apk.
func checkModes(t *testing.T, what string, r io.Reader) []string {
	t.Helper()
	var files []string
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		name := strings.Trim(strings.TrimPrefix(h.Name, "./"), "/")
		if name == "" || name == ".PKGINFO" {
			continue
		}
		mode := int64(0o644)
		program := strings.HasPrefix(filepath.Base(name), "leaderrun") && filepath.Ext(name) != ".service"
		if h.Typeflag == tar.TypeDir || program && (filepath.Dir(name) == "." ||
			filepath.Dir(name) == "usr/bin" || filepath.Dir(name) == "usr/libexec/leaderrun") {
			mode = 0o755
		}
		if h.Mode&0o7777 != mode || h.Uid != 0 || h.Gid != 0 || h.Uname != "root" || h.Gname != "root" || !h.ModTime.Equal(committed) {
			t.Errorf("%s: %s has mode %o, is of %s:%s (%d:%d) and of %s; want mode %o, root and %s",
				what, name, h.Mode, h.Uname, h.Gname, h.Uid, h.Gid, h.ModTime, mode, committed)
		}
		switch {
		case h.Typeflag == tar.TypeReg:
			files = append(files, name)
		case h.Typeflag != tar.TypeDir:
			t.Errorf("%s: %s is neither a file nor a directory", what, name)
		}
	}
}

// unzip decompresses gzip, possibly several parts in a row as in an apk.
func unzip(t *testing.T, r io.Reader) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
