package mysql

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// TestGalera lets the nodes of a cluster write the same row, until writes have collided. No
// two writes with the same version are acknowledged, and no node reads what is out of date.
func TestGalera(t *testing.T) {
	t.Parallel()
	nodes := mysqltest.StartGalera(t, 3)
	ctx := storetest.Within(t, realserver.Ready)
	var stores []*store
	for _, n := range nodes {
		stores = append(stores, at(t, n.URL()))
	}
	c := storetest.Create(t, stores[0], jobs)
	nodes[0].Exec("CREATE TRIGGER count BEFORE UPDATE ON leaderrun_locks FOR EACH ROW SET NEW.first = NEW.first - 1") // counts changes
	for i := range 100 {
		s := stores[i%3]
		if now := storetest.Must(t)(s.Read(ctx, jobs)); now.Version != c.Version {
			t.Fatalf("node %d reads %+v; want %+v", i%3, now, c)
		} else if !now.Updated.IsZero() && i > 0 {
			t.Errorf("node %d: by its own clock, the row of another is from %v", i%3, now.Updated)
		}
		c = storetest.Must(t)(s.Swap(ctx, jobs, c, caslease.Value{State: fmt.Sprintf(`{"n":%d}`, i)}))
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	written, collided, undone := map[string]bool{c.Version: true}, 0, 0
	first := c.First
	for i, s := range stores {
		all.Go(func() {
			for n := 0; ; n++ {
				mu.Lock()
				done := collided+undone >= 10 && n >= 20
				mu.Unlock()
				if done {
					return
				}
				at, err := s.Read(ctx, jobs)
				if err != nil {
					t.Error(err)
					return
				}
				state := fmt.Sprintf(`{"node":%d,"n":%d}`, i, n)
				now, err := s.Swap(ctx, jobs, at, caslease.Value{State: state})
				mu.Lock()
				switch {
				case err == nil && written[now.Version]:
					t.Errorf("two writes had the version %s", now.Version)
				case err == nil:
					written[now.Version] = true
				case errors.Is(err, errUndone):
					undone++
				case causes.Is[*commitError](err):
					collided++
				case strings.Contains(err.Error(), "Trigger 'count' has an error"): // it was aborted while the trigger was read
				case s.Fault(err).Kind != causes.Changed:
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	c = storetest.Must(t)(stores[0].Read(ctx, jobs))
	if changes, acknowledged := int(first-c.First)+1, len(written); acknowledged > changes || acknowledged+collided+undone < changes {
		t.Errorf("the row was changed %d times; %d writes were acknowledged, and %d may have been", changes, acknowledged, collided+undone)
	}
	t.Logf("%d writes; %d commits were refused; %d were acknowledged, but undone or followed by another", len(written), collided, undone)
	both := at(t, mysqltest.URLOf(mysqltest.User, nodes[0].Addr(), nodes[1].Addr()))
	for _, check := range []string{"primary", "durability", "replication"} {
		findings(t, both, check, "")
	}
	nodes[0].Kill()
	nodes[1].Kill()
	nodes[2].Until("SELECT variable_value = 'non-Primary' FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_status'")
	_, err := stores[2].Read(ctx, jobs)
	if f := stores[2].Fault(err); err == nil || f.Kind != causes.Unreachable && f.Kind != causes.Unsent || !strings.Contains(f.Hint, "lost the others") {
		t.Errorf("a node alone: %v, %+v", err, f)
	}
}

// TestUndoneCommit checks that the server's word is not enough: a write that was rolled back
// does not count, although each statement has succeeded. TestGalera meets this too rarely.
func TestUndoneCommit(t *testing.T) {
	t.Parallel()
	s := at(t, mysqltest.Start(t).URL())
	old := storetest.Create(t, s, jobs)
	ctx := storetest.Within(t, realserver.Ready)
	c, err := s.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := query(ctx, c, "SET @leaderrun_alone = NULL"); err != nil {
		t.Fatal(err)
	}
	v := values{"name": []byte("jobs"), "part": 0, "version": old.Version, "age": 0, "state": []byte("{}"), "text": []byte(nil)}
	read := s.settings.sql(readSQL, v)
	text := s.settings.transaction(s.settings.sql(updateSQL, v)+"; "+read, read, time.Minute)
	_, err = transact(ctx, c, strings.Replace(text, "COMMIT AND NO CHAIN NO RELEASE", "ROLLBACK", 1), false)
	if storetest.IsKind(t, s, err, causes.Unknown); !errors.Is(err, errUndone) {
		t.Errorf("got %v", err)
	}
	if _, err = transact(ctx, c, text, false); err != nil {
		t.Error(err)
	}
}
