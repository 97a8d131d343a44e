package site

import (
	"fmt"
	"time"

	"slurmflex/flex/history"
)

// Waited writes a history of cluster alpha, of that many waits for two nodes: one minute, two minutes and so on.
func Waited(dir string, waits int) error {
	var entries []history.Entry
	for i := range waits {
		from := history.At(time.Now().Add(-time.Duration(i+48) * time.Hour))
		entries = append(entries, history.Entry{
			Version: history.Version, Kind: history.Wait, ID: fmt.Sprint(i), NodeSet: NodeSet,
			Count: 2, From: from, To: from + history.Time(60*(i+1)), End: history.Granted,
		})
	}
	return history.Append(dir, "alpha", false, entries)
}
