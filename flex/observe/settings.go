package observe

import (
	"context"
	"fmt"

	"slurmflex/slurm"
)

// readSettings reads slurm.conf as slurmctld sees it, unless the last reading is recent. A process
// that keeps a cover reads it every time, because the partitions limit what the cover may include,
// and because a restart of slurmctld restarts the cover's clock.
func (o Observer) readSettings(ctx context.Context) error {
	s := &o.Memory.Settings
	if !o.covers() && s.AreCurrent(o.Now()) {
		return nil
	}
	conf, err := o.Slurm.Config(ctx)
	if err != nil {
		return fmt.Errorf("read slurm.conf: %w", err)
	}
	var unread slurm.Unread
	partitions, err := o.Slurm.Partitions(ctx)
	if err = unread.Take(err); err != nil {
		return fmt.Errorf("read partitions: %w", err)
	}
	s.Take(o.Config, conf, partitions, unread, o.Now())
	return nil
}
