package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"slurmflex/config/regular"
	"slurmflex/flex/ledger"
	"slurmflex/mig"
)

// memory holds the waits and leases that have not ended. It is saved in a file beside the lines,
// because passes started by cron share no memory. Without the file, the next look recovers most of
// it: when machines and requests were created, and since when jobs have run.
type memory struct {
	looked     map[string]Time // by region: the last look; none: when things ended that are gone is unknown
	openWaits  map[mig.GroupID][]*openWait
	openLeases map[ledger.Machine]*openLease

	looks   int  // of this process
	changed bool // since the last save
}

// fill adds the accounts that were not known when a job's wait, lease or use started.
func (m *memory) fill(l *look) {
	for _, open := range m.openWaits {
		for _, o := range open {
			m.changed = l.fill(&o.Who) || m.changed
		}
	}
	for _, o := range m.openLeases {
		m.changed = l.fill(&o.Who) || m.changed
		for i := range o.Uses {
			m.changed = l.fill(&o.Uses[i].Who) || m.changed
		}
	}
}

// anyOngoing reports whether a wait or lease has not ended. Readers count these up to the last look.
func (m *memory) anyOngoing() bool {
	for _, open := range m.openWaits {
		if slices.ContainsFunc(open, func(o *openWait) bool { return !o.Over }) {
			return true
		}
	}
	return len(m.openLeases) > 0
}

// saved is the memory as stored in the file.
type saved struct {
	Version int             `json:"v"`
	Looked  map[string]Time `json:"looked"`
	Waits   []*openWait     `json:"waits"`
	Leases  []*openLease    `json:"leases"`
}

func newMemory() *memory {
	return &memory{looked: map[string]Time{}, openWaits: map[mig.GroupID][]*openWait{}, openLeases: map[ledger.Machine]*openLease{}}
}

// openPath returns the file of a cluster's memory.
func openPath(dir, cluster string) string { return filepath.Join(dir, "open-"+cluster+".json") }

// load reads the memory. A missing file is an empty memory.
func load(dir, cluster string) (*memory, error) {
	m := newMemory()
	text, err := os.ReadFile(openPath(dir, cluster))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	var s saved
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && s.Version != Version {
		err = fmt.Errorf("version %d is not known", s.Version)
	}
	if err != nil {
		return m, fmt.Errorf("read %s: %w", openPath(dir, cluster), err)
	}
	for region, at := range s.Looked {
		m.looked[region] = at
	}
	for _, o := range s.Waits {
		if o != nil && o.Count > 0 {
			m.openWaits[o.id()] = append(m.openWaits[o.id()], o)
		}
	}
	for _, o := range s.Leases {
		if o != nil {
			m.openLeases[o.machine()] = o
		}
	}
	return m, nil
}

// missed forgets the looks from before another host made the passes: that host has the lines of what
// ended meanwhile. Later looks are of the other host itself, in a folder that both share.
func (m *memory) missed(since Time) {
	maps.DeleteFunc(m.looked, func(_ string, last Time) bool { return last <= since })
	m.changed = true
}

// save replaces the file atomically.
func (m *memory) save(dir, cluster string, private bool) error {
	s := saved{Version: Version, Looked: m.looked, Waits: []*openWait{}, Leases: []*openLease{}}
	for _, open := range m.openWaits {
		s.Waits = append(s.Waits, open...)
	}
	for _, o := range m.openLeases {
		s.Leases = append(s.Leases, o)
	}
	text, err := json.Marshal(s)
	mode := os.FileMode(openMode)
	if private {
		mode = privateMode
	}
	if err == nil {
		err = regular.Replace(openPath(dir, cluster), text, mode, nil)
	}
	if err != nil {
		return fmt.Errorf("write what is open: %w", err)
	}
	m.changed = false
	return nil
}

// ongoing returns the waits or leases that had not ended at the last look, as of that look; none
// before the first look.
func ongoing(dir, cluster string, kind Kind) (entries []Entry, err error) {
	m, err := load(dir, cluster)
	if kind == Wait {
		for _, open := range m.openWaits {
			for _, o := range open {
				if e := o.Entry; !o.Over {
					e.To, e.Ongoing = max(m.looked[o.Region], e.From), true
					entries = append(entries, e)
				}
			}
		}
		return entries, err
	}
	for _, o := range m.openLeases {
		e := o.until(m.looked[o.Region])
		if o.Gone != 0 {
			e = o.until(o.over())
		}
		e.Ongoing = true
		entries = append(entries, e)
	}
	return entries, err
}
