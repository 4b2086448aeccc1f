//go:build !linux

package cgroup

import "errors"

// A Group does not exist on this system.
type Group struct{}

var errNone = errors.New("only Linux has cgroups")

// A Home does not exist on this system either.
type Home struct{}

// Find returns a Home without groups.
func Find() Home { return Home{} }

// New fails.
func New() (*Group, error) { return nil, errNone }

// New fails.
func (Home) New() (*Group, error) { return nil, errNone }

// Open fails.
func Open(string) (*Group, error) { return nil, errNone }

func (*Group) FD() int                  { return -1 }
func (*Group) Path() string             { return "" }
func (*Group) Kill() error              { return errNone }
func (*Group) Populated() (bool, error) { return true, errNone }
func (*Group) Remove() error            { return errNone }
func (*Group) Close()                   {}
