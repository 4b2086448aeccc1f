package file

import (
	"fmt"
	"net/url"
	"os"
	passwd "os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/file/fileinfo"
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
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(p.dir)}).String()
}

// whichPlace reads a file URL.
func whichPlace(u *url.URL, getenv func(string) string) (place, error) {
	if err := fileinfo.Info.CheckParams(u); err != nil {
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
		return place{dir: localPath(u.Path)}, nil
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
	home := getenv(homeVar())
	if !isHome(home) {
		home = passwordHome()
	}
	if !isHome(home) {
		return place{}, usage(homeVar() + " does not name a home directory, so there is no default directory for locks; set " + dirVar + ", or write file:///dir")
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

func homeVar() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// localPath turns the path of a URL, which begins with a slash, into one of this system:
// on Windows "/C:/dir" is C:\dir.
func localPath(p string) string {
	if runtime.GOOS == "windows" {
		p = strings.TrimPrefix(p, "/")
	}
	return filepath.Clean(filepath.FromSlash(p))
}

func usage(what string) error { return &locks.UsageError{What: what} }
