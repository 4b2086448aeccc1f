// Elector takes part in a leader election of client-go, as controllers do. It is a program of its
// own, built with the API server's modules, because what it links takes minutes to build.
//
//	elector KUBECONFIG NAMESPACE LEASE IDENTITY SECONDS
//
// It prints "leads" when it leads, and "lost" when it no longer does, each with CLOCK_BOOTTIME in
// nanoseconds. TERM makes it release the Lease and end.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: elector KUBECONFIG NAMESPACE LEASE IDENTITY SECONDS")
	}
	seconds, err := strconv.ParseFloat(os.Args[5], 64)
	check(err)
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	client, err := coordinationv1.NewForConfig(config)
	check(err)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	ttl := time.Duration(seconds * float64(time.Second))
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: os.Args[2], Name: os.Args[3]}, Client: client,
				LockConfig: resourcelock.ResourceLockConfig{Identity: os.Args[4]},
			},
			LeaseDuration: ttl, RenewDeadline: ttl * 2 / 3, RetryPeriod: ttl / 8, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { say("leads") },
				OnStoppedLeading: func() { say("lost") },
			},
		})
	}
}

func say(word string) {
	var now unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_BOOTTIME, &now))
	fmt.Println(word, now.Nano())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
