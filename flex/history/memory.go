package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"slurmflex/config/regular"
	"slurmflex/mig"
)

// memory holds the waits, leases and stories that have not ended. It is saved in a file beside the lines,
// because passes started by cron share no memory. Without the file, the next look recovers most of
// it: when machines and requests were created, and since when jobs have run.
type memory struct {
	looked     map[string]Time // by region: the last look; none: when things ended that are gone is unknown
	openWaits  map[mig.GroupID][]*openWait
	openLeases map[Machine]*openLease
	stories    openStories

	looks int    // of this process
	saved Time   // when the file was last written; 0: not by this process
	open  []byte // what the file has, without the times of the looks
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

// stored is the memory as stored in the file.
type stored struct {
	Version int             `json:"v"`
	Looked  map[string]Time `json:"looked"`
	Waits   []*openWait     `json:"waits"`
	Leases  []*openLease    `json:"leases"`
	Jobs    []*openStory    `json:"jobs"`
}

func newMemory() *memory {
	return &memory{looked: map[string]Time{}, openWaits: map[mig.GroupID][]*openWait{}, openLeases: map[Machine]*openLease{}}
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
	var s stored
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
	m.stories.resume(s.Jobs)
	m.open, err = json.Marshal(m.stored())
	return m, err
}

// missed forgets the looks from before another host made the passes: that host has the lines of what
// ended meanwhile. Later looks are of the other host itself, in a folder that both share.
func (m *memory) missed(since Time) {
	maps.DeleteFunc(m.looked, func(_ string, last Time) bool { return last <= since })
	m.open = nil
}

// stored returns what is open in the order of its IDs, so that the same has the same text.
func (m *memory) stored() stored {
	s := stored{Version: Version, Waits: []*openWait{}, Leases: []*openLease{}, Jobs: m.stories.open()}
	for _, open := range m.openWaits {
		s.Waits = append(s.Waits, open...)
	}
	for _, o := range m.openLeases {
		s.Leases = append(s.Leases, o)
	}
	slices.SortFunc(s.Waits, func(a, b *openWait) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Leases, func(a, b *openLease) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// save replaces the file atomically, if something open has changed. Otherwise it writes the
// times of the looks, up to which readers count ongoing entries, once in lookEvery.
func (m *memory) save(dir, cluster string, private bool, now Time) error {
	s := m.stored()
	open, err := json.Marshal(s)
	if err == nil && bytes.Equal(open, m.open) && (!m.anyOngoing() || now-m.saved < lookEvery) {
		return nil
	}
	s.Looked = m.looked
	text, failed := json.Marshal(s)
	err = errors.Join(err, failed)
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
	m.open, m.saved = open, now
	return nil
}

// ongoing returns the waits or leases that had not ended at the last look, as of that many seconds after
// the look.
func (m *memory) ongoing(kind Kind, after Time) (entries []Entry) {
	if kind == Wait {
		for _, open := range m.openWaits {
			for _, o := range open {
				if e := o.Entry; !o.Over {
					e.To, e.Ongoing = max(m.looked[o.Region]+after, e.From), true
					entries = append(entries, e)
				}
			}
		}
		return entries
	}
	for _, o := range m.openLeases {
		e := o.until(m.looked[o.Region] + after)
		if o.Gone != 0 {
			e = o.until(o.over())
		}
		e.Ongoing = true
		entries = append(entries, e)
	}
	return entries
}
