package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

const (
	etcdUser   = "nightly"
	etcdPrefix = "/faults"
)

// etcdStore is a cluster, or one server. A cluster requires authentication.
func etcdStore(t *testing.T, c etcdtest.Cluster, l links, p plan) *store {
	s := &store{several: true}
	for _, member := range c {
		s.servers = append(s.servers, member.Addr())
		s.faults = append(s.faults, serverFaults(member)...)
	}
	credentials := ""
	if len(c) > 1 {
		c[0].EnableAuth("root", etcdtest.User{Name: etcdUser, Password: "secret", Prefix: etcdPrefix})
		credentials = etcdUser + ":secret@"
		s.faults = append(s.faults, etcdWithdrawal(c))
		s.faults = append(s.faults, leaderFaults(c.Leader)...)
		s.faults = append(s.faults, linkFaults(l, c, c.Leader)...)
	}
	if p.strict {
		client := c[0].Client
		if len(c) > 1 {
			client = func() *clientv3.Client { return c[0].ClientAs("root", "root") }
		}
		s.faults = append(s.faults, etcdOperator(client)...)
	}
	s.env = func(addrs []string) []string {
		return backend("etcd", append([]string{credentials + addrs[0]}, addrs[1:]...), etcdPrefix)
	}
	return s
}

// etcdLimit bounds what an operator does.
const etcdLimit = 20 * time.Second

// etcdWithdrawal takes the user's rights away, and gives them back.
func etcdWithdrawal(c etcdtest.Cluster) fault {
	return fault{"credentials withdrawn", func(n *nemesis, _ *machine) bool {
		client := c[0].ClientAs("root", "root")
		defer client.Close()
		end := clientv3.GetPrefixRangeEnd(etcdPrefix)
		operate := func(what string, f func(context.Context) error) bool {
			for end := time.Now().Add(etcdLimit); ; time.Sleep(100 * time.Millisecond) {
				ctx, cancel := context.WithTimeout(context.Background(), etcdLimit/4)
				err := f(ctx)
				cancel()
				if err == nil {
					return true
				}
				if time.Now().After(end) {
					n.must(fmt.Errorf("%s: %w", what, err))
					return false
				}
			}
		}
		withdrawn := operate("withdraw", func(ctx context.Context) error {
			_, err := client.RoleRevokePermission(ctx, etcdUser, etcdPrefix, end)
			return err
		})
		if withdrawn {
			n.pass()
		}
		// Also if the outcome is unknown: otherwise nobody would ever lead again.
		return operate("grant", func(ctx context.Context) error {
			_, err := client.RoleGrantPermission(ctx, etcdUser, etcdPrefix, end, clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		}) && withdrawn
	}}
}

// etcdOperator ends running terms.
func etcdOperator(open func() *clientv3.Client) []fault {
	return []fault{
		etcdEviction(open, "lock deleted", func(ctx context.Context, c *clientv3.Client, key string, _ clientv3.LeaseID) error {
			_, err := c.Delete(ctx, key)
			return err
		}),
		etcdEviction(open, "lease revoked", func(ctx context.Context, c *clientv3.Client, _ string, lease clientv3.LeaseID) error {
			_, err := c.Revoke(ctx, lease)
			return err
		}),
	}
}

func etcdEviction(open func() *clientv3.Client, name string, evict func(context.Context, *clientv3.Client, string, clientv3.LeaseID) error) fault {
	return fault{name, func(n *nemesis, _ *machine) bool {
		client := open()
		defer client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), etcdLimit)
		defer cancel()
		first, err := client.Get(ctx, etcdPrefix+"/"+lockName+"/", clientv3.WithFirstCreate()...)
		if err != nil || len(first.Kvs) == 0 {
			return false // nobody has the lock
		}
		kv := first.Kvs[0]
		return evict(ctx, client, string(kv.Key), clientv3.LeaseID(kv.Lease)) == nil
	}}
}
