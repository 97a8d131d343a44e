package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"slurmflex/config/regular"
)

// memory holds the waits, leases and stories that have not ended. It is saved in a file beside the lines,
// because passes started by cron share no memory. Without the file, the next look recovers most of
// it: when machines and requests were created, and since when jobs have run.
type memory struct {
	Version int             `json:"v"`
	Looked  map[string]Time `json:"looked"` // by region: the last look; none: when things ended that are gone is unknown
	Waits   []*openWait     `json:"waits"`
	Leases  []*openLease    `json:"leases"`
	openStories

	looks int    // of this process
	saved Time   // when the file was last written; 0: not by this process
	open  []byte // what the file has, without the times of the looks
}

func newMemory() *memory { return &memory{Version: Version, Looked: map[string]Time{}} }

// openPath returns the file of a cluster's memory.
func openPath(dir, cluster string) string { return filepath.Join(dir, "open-"+cluster+".json") }

// load reads the memory. A missing file is an empty memory.
func load(dir, cluster string) (*memory, error) {
	m := newMemory()
	text, err := os.ReadFile(openPath(dir, cluster))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err == nil && m.Version != Version {
		err = fmt.Errorf("version %d is not known", m.Version)
	}
	if err != nil {
		return newMemory(), fmt.Errorf("read %s: %w", openPath(dir, cluster), err)
	}
	m.Waits = slices.DeleteFunc(m.Waits, func(o *openWait) bool { return o == nil || o.Count < 1 })
	m.Leases = slices.DeleteFunc(m.Leases, func(o *openLease) bool { return o == nil })
	m.Jobs = slices.DeleteFunc(m.Jobs, func(s *openStory) bool { return s == nil || len(s.Events) == 0 })
	m.open, err = m.withoutTimes()
	return m, err
}

// missed forgets the looks from before another host made the passes: that host has the lines of what
// ended meanwhile. Later looks are of the other host itself, in a folder that both share.
func (m *memory) missed(since Time) {
	maps.DeleteFunc(m.Looked, func(_ string, last Time) bool { return last <= since })
	m.open = nil
}

// withoutTimes returns the text of the file without the times of the looks.
func (m memory) withoutTimes() ([]byte, error) {
	m.Looked = nil
	return json.Marshal(m)
}

// save replaces the file atomically, if something open has changed. Otherwise it writes the
// times of the looks, up to which readers count ongoing entries, once in lookEvery.
func (m *memory) save(dir, cluster string, private bool, now Time) error {
	open, err := m.withoutTimes()
	if err == nil && bytes.Equal(open, m.open) && (len(m.ongoing(0)) == 0 || now-m.saved < lookEvery) {
		return nil
	}
	text, failed := json.Marshal(m)
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

// ongoing returns the waits and leases that had not ended at the last look, as of that many seconds after
// the look.
func (m *memory) ongoing(after Time) (entries []Entry) {
	for _, o := range m.Waits {
		if e := o.Entry; !o.Over {
			e.To, e.Ongoing = max(m.Looked[o.Region]+after, e.From), true
			entries = append(entries, e)
		}
	}
	for _, o := range m.Leases {
		e := o.until(m.Looked[o.Region] + after)
		if o.Gone != 0 {
			e = o.until(o.over())
		}
		e.Ongoing = true
		entries = append(entries, e)
	}
	return entries
}

// absence is since when looks have not shown something open.
type absence struct {
	Gone Time `json:"gone,omitempty"` // the first look without it
	Lost bool `json:"lost,omitempty"` // it was gone at the first look after another host's passes

	shown int // the last of memory.looks that showed it
}

// isOver reports whether looks at the region have not shown it for so long that it is gone.
func (a *absence) isOver(l *look, region string) bool {
	if a.Gone == 0 {
		a.Gone, a.Lost = l.now, l.looked[region] == 0
	}
	return l.now-a.Gone >= goneAfter
}
