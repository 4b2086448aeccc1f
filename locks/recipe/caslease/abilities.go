package caslease

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	can := []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanBreak, locks.CanForget}
	if _, ok := l.store.(Lister); ok {
		can = append(can, locks.CanList)
	}
	if _, ok := l.store.(Watcher); ok {
		can = append(can, locks.CanWatch)
	}
	if _, ok := l.store.(Prober); ok {
		can = append(can, locks.CanProbe)
	}
	return can, nil
}

var _ locks.Able = (*Lock)(nil)
