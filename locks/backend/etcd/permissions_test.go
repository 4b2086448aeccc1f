package etcd_test

import (
	"errors"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestOperatorsPermissions checks the permissions that an operator's commands need
// according to the package's documentation, in each version of etcd. A denied command
// changes nothing.
func TestOperatorsPermissions(t *testing.T) {
	t.Parallel()
	const all, queue = "/leaderrun/", "/leaderrun/jobs%2Fnightly/"
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{Version: version})
			s.EnableAuth(password,
				etcdtest.User{Name: "reader", Password: password, Prefix: all, ReadOnly: true},
				etcdtest.User{Name: "queue", Password: password, Prefix: queue},
				etcdtest.User{Name: "prefix", Password: password, Prefix: all})
			as := func(user string) string { return "etcd://" + user + ":" + password + "@" + s.Addr() }
			for _, tt := range []struct {
				user   string
				denied []string
			}{
				{"reader", []string{"ask", "break", "forget"}},
				{"queue", []string{"ask", "record", "list", "watch all", "forget"}},
				{"prefix", nil},
			} {
				who := "root"
				if tt.denied == nil {
					who = tt.user
				}
				l, holder := handle(t, as(tt.user), options("operator")), handle(t, as(who), options("a"))
				token := drive.Hold(t, holder).Token
				if err := holder.SetRecord(drive.Context(t), []byte("x")); err != nil {
					t.Errorf("%s sets the record: %v", who, err)
				}
				asking := l.Ask(drive.Context(t), token, []byte("resign"))
				if asking == nil {
					drive.IsAsked(t, holder, "resign")
				}
				_, reading := l.Record(drive.Context(t))
				state, err := l.Inspect(drive.Context(t))
				if err == nil && (state.Token != token || state.Left <= 0) {
					t.Errorf("%s: inspected %+v", tt.user, state)
				}
				errs := map[string]error{"ask": asking, "record": reading, "inspect": err, "break": l.Break(drive.Context(t), token)}
				if errs["break"] != nil {
					drive.Renew(t, holder)
					drive.Release(t, holder)
				}
				_, _, errs["list"] = l.List(drive.Context(t), "")
				_, errs["watch"] = l.Watch(drive.Context(t), false)
				_, errs["watch all"] = l.Watch(drive.Context(t), true)
				errs["forget"] = l.Forget(drive.Context(t))
				for _, what := range tt.denied {
					if !errors.Is(errs[what], locks.ErrDenied) || locks.Hint(errs[what]) == "" {
						t.Errorf("%s may %s: %v, hint %q", tt.user, what, errs[what], locks.Hint(errs[what]))
					}
					delete(errs, what)
				}
				for what, err := range errs {
					if err != nil {
						t.Errorf("%s may not %s: %v", tt.user, what, err)
					}
				}
			}
		})
	}
}
