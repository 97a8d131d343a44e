package cost

import (
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/view"
)

// Shown adds prices to views. Because all users may see a view, it uses the price file only if all
// users may read the file. It rereads the file after a change.
type Shown struct {
	Path string // of the price file
	Log  *zap.Logger

	mu      sync.Mutex
	changed time.Time // the file at its last read
	prices  *Prices
}

// Fill adds the prices to the nodesets.
func (p *Shown) Fill(v *view.View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const othersRead = 0o004
	info, err := os.Stat(p.Path)
	if err != nil || info.Mode()&othersRead == 0 {
		return
	}
	if !info.ModTime().Equal(p.changed) {
		p.changed = info.ModTime()
		if p.prices, err = ReadPrices(p.Path, false); err != nil {
			p.Log.Warn("no prices are shown; correct the price file", zap.Error(err))
		}
	}
	if p.prices == nil {
		return
	}
	for i := range v.NodeSets {
		set := &v.NodeSets[i]
		if hour, known := p.prices.machines[set.Machine][modelOf(set.Capacity)]; known {
			set.Price = &view.Price{Hour: hour, Currency: p.prices.Currency}
		}
	}
}
