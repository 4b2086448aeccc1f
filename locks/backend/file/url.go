package file

import (
	"fmt"
	"net/url"
	"os"
	passwd "os/user"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// dirVar names the directory if the URL does not.
const dirVar = "LEADERRUN_FILE_DIR"

// A place is where lock files are.
type place struct {
	dir     string // absolute, clean
	parents bool   // absent parents are made as well
	anyFS   bool   // its file system need not be known to be local
}

func (p place) String() string {
	return (&url.URL{Scheme: "file", Path: p.dir}).String()
}

// whichPlace reads a file URL.
func whichPlace(u *url.URL, getenv func(string) string) (place, error) {
	if err := known.File.CheckParams(u); err != nil {
		return place{}, err
	}
	p, err := whichDir(u, getenv)
	if q := u.Query(); err == nil && q.Has("fs") {
		if fs := q.Get("fs"); fs != "any" {
			return place{}, usage(fmt.Sprintf("file parameter fs=%q is not any", locks.Abbreviate(fs)))
		}
		p.anyFS = true
	}
	return p, err
}

func whichDir(u *url.URL, getenv func(string) string) (place, error) {
	switch {
	case u.Opaque != "":
		return place{}, usage("file URL: the path is relative; write file:///dir")
	case u.Host != "" || u.User != nil:
		return place{}, usage("file URL: it has a host; write file:///dir, with three slashes")
	case u.Fragment != "":
		return place{}, usage("file URL: write # in the path as %23")
	case strings.ContainsFunc(u.Path, unicode.IsControl):
		return place{}, usage("file URL: the path has a control character")
	case u.Path != "":
		return place{dir: filepath.Clean(u.Path)}, nil
	}
	return defaultPlace(getenv)
}

func defaultPlace(getenv func(string) string) (place, error) {
	if dir := getenv(dirVar); dir != "" {
		if !filepath.IsAbs(dir) {
			return place{}, usage(dirVar + " is not an absolute path")
		}
		return place{dir: filepath.Clean(dir)}, nil
	}
	if os.Geteuid() == 0 {
		return place{dir: "/var/lib/leaderrun", parents: true}, nil
	}
	home := getenv("HOME")
	if !isHome(home) {
		home = passwordHome()
	}
	if !isHome(home) {
		return place{}, usage("HOME does not name a home directory, so there is no default directory for locks; set " + dirVar + ", or write file:///dir")
	}
	return place{dir: filepath.Join(home, ".local", "state", "leaderrun"), parents: true}, nil
}

// isHome reports whether a directory may be a user's home. In a container whose user has
// no name it is "/", which is not writable.
func isHome(dir string) bool { return filepath.IsAbs(dir) && filepath.Clean(dir) != "/" }

// passwordHome returns our home in the password database, or "".
func passwordHome() string {
	u, err := passwd.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return ""
	}
	return u.HomeDir
}

func usage(what string) error { return &locks.UsageError{What: what} }
