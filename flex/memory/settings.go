package memory

import (
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Settings is the last reading of slurm.conf and of the partitions.
type Settings struct {
	scene.Settings
	Unread   slurm.Unread // rows of partitions
	Enforced []string     // AccountingStorageEnforce
	Read     time.Time
}

// AreCurrent reports whether the last reading is recent.
func (s *Settings) AreCurrent(now time.Time) bool {
	return !s.Read.IsZero() && age(now, s.Read) < SettingsAge
}
