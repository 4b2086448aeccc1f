package faults

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// azblobStore is an emulator.
func azblobStore(t *testing.T, p plan) *store {
	s := azblobtest.Start(t)
	all := &store{
		servers: []string{s.Addr()}, http: true, named: true, least: known.Azblob.MinTTL,
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=" + azblobtest.URL(addrs[0], "faults").String(), "AZURE_STORAGE_KEY=" + azblobtest.Key}
		},
		// It keeps its data only over an orderly end.
		faults: []fault{
			{"server restarted", func(n *nemesis, _ *machine) bool { return restart(n, s, s.Stop) }},
			{"server frozen", func(n *nemesis, _ *machine) bool { return pauseServer(n, s) }},
		},
	}
	if p.strict {
		all.faults = append(all.faults, fault{"lease broken", func(*nemesis, *machine) bool {
			c, err := lease.NewBlobClient(s.NewBlobClient("faults/"+lockName), nil)
			if err != nil {
				t.Fatal(err)
			}
			var now int32
			_, err = c.BreakLease(t.Context(), &lease.BlobBreakOptions{BreakPeriod: &now})
			return err == nil // otherwise nobody has the lock
		}})
	}
	return all
}
