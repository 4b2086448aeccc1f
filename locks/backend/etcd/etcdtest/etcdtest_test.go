package etcdtest

import (
	"context"
	"testing"
	"time"
)

func TestServer(t *testing.T) {
	t.Parallel()
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{Version: version})
			ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
			defer cancel()
			client := s.Client()
			defer client.Close()
			if _, err := client.Put(ctx, "k", "v"); err != nil {
				t.Fatal(err)
			}
			s.Stop()
			s.Start()
			got, err := client.Get(ctx, "k")
			if err != nil || len(got.Kvs) != 1 {
				t.Fatalf("after a restart: %v, %v; want the key", got, err)
			}
			s.Pause()
			answers := func() bool { // a thread may still run for a moment
				short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				_, err := client.Get(short, "k")
				return err == nil
			}
			for tries := 1; answers(); tries++ {
				if tries == 50 {
					t.Fatal("a paused server still answers")
				}
			}
			s.Resume()
			if _, err := client.Get(ctx, "k"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, Options{})
	first := c.Leader()
	first.Kill()
	if second := c.Leader(); second == first {
		t.Error("a killed leader leads")
	}
}
