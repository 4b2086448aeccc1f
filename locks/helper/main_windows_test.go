package helper

import "os/exec"

func alive(int) bool { return false }

func stopMyself() { select {} }

func inherited() []int { return nil }

func detach(*exec.Cmd) {}
