// Elector takes part in a leader election of client-go, as controllers do. It is a program of its
// own, built with the API server's modules, because what it links takes minutes to build.
//
//	elector KUBECONFIG NAMESPACE LEASE IDENTITY SECONDS [COMMAND [ARG...]]
//
// With a COMMAND, it runs that when it leads, kills it when it no longer does, and ends with it, as
// wrappers do. Otherwise it goes on, and prints "leads" and "lost". TERM makes it release the Lease
// and end.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	if len(os.Args) < 6 {
		log.Fatal("usage: elector KUBECONFIG NAMESPACE LEASE IDENTITY SECONDS [COMMAND [ARG...]]")
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
	callbacks := leaderelection.LeaderCallbacks{
		OnStartedLeading: func(context.Context) { fmt.Println("leads") },
		OnStoppedLeading: func() { fmt.Println("lost") },
	}
	if command := os.Args[6:]; len(command) > 0 {
		callbacks = (&wrapper{cmd: exec.Command(command[0], command[1:]...), release: cancel, ended: make(chan struct{})}).callbacks()
	}
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: os.Args[2], Name: os.Args[3]}, Client: client,
				LockConfig: resourcelock.ResourceLockConfig{Identity: os.Args[4]},
			},
			LeaseDuration: ttl, RenewDeadline: ttl * 2 / 3, RetryPeriod: ttl / 8, ReleaseOnCancel: true,
			Callbacks: callbacks,
		})
	}
}

// A wrapper runs a command while it leads.
type wrapper struct {
	cmd     *exec.Cmd
	release func()        // has the Lease released
	ended   chan struct{} // closed when the command has ended
}

func (w *wrapper) callbacks() leaderelection.LeaderCallbacks {
	w.cmd.Stdout, w.cmd.Stderr = os.Stdout, os.Stderr
	begun := make(chan struct{})
	return leaderelection.LeaderCallbacks{
		OnStartedLeading: func(context.Context) {
			check(w.cmd.Start())
			close(begun)
			_ = w.cmd.Wait() // its status is in ProcessState
			close(w.ended)
			w.release()
		},
		OnStoppedLeading: func() {
			select {
			case <-begun:
			default:
				os.Exit(1) // it never led
			}
			_ = w.cmd.Process.Kill() // it may have ended
			<-w.ended
			os.Exit(max(w.cmd.ProcessState.ExitCode(), 0))
		},
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
