package cost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// A ledger rereads the history after bookAge. If that takes long, it does so less often: reading takes
// at most one part in readShare of the time. After staleAfter times that age, as after a standby,
// passes wait for the next reading, for at most readLimit.
const (
	bookAge    = time.Minute
	readShare  = 100
	staleAfter = 3
	readLimit  = 10 * time.Second
)

// Ledger reads the history and the price file in the background. A pass waits for the first reading
// of the process.
type Ledger struct {
	Dir, Cluster string
	Prices       string         // path of the price file
	Zone         *time.Location // of the periods
	// Kept returns why the history is not written; nil: it is.
	Kept func() error

	mu    sync.Mutex
	reads chan struct{} // closed when the present reading ends; nil: there is none
	last  *book         // nil before the first reading
}

// Spent returns what machines have taken in the present periods of the limits.
func (l *Ledger) Spent(ctx context.Context, snap *scene.Snapshot, cfg *config.Config) scene.Spent {
	if err := l.Kept(); err != nil {
		return scene.Spent{Err: fmt.Errorf("the history is not kept: %w", err)}
	}
	if len(cfg.Options.Limits) == 0 {
		return scene.Spent{}
	}
	b, err := l.book(ctx, snap.Now)
	if err != nil {
		return scene.Spent{Err: err}
	}
	spent, err := b.spent(snap, cfg)
	if err != nil {
		return scene.Spent{Err: err}
	}
	return spent
}

// book returns the newest reading of the present day. It starts another one if that is old, and waits
// for it if that is missing or stale.
func (l *Ledger) book(ctx context.Context, now time.Time) (*book, error) {
	l.mu.Lock()
	last := l.last
	age, share := time.Duration(0), bookAge
	if last != nil {
		age, share = now.Sub(last.at).Abs(), max(bookAge, readShare*last.took)
	}
	usable := last != nil && last.isOf(now, l.Zone) && age <= staleAfter*share
	if l.reads == nil && (!usable || age > share) {
		l.reads = make(chan struct{})
		go l.read(now, l.reads)
	}
	reads := l.reads
	l.mu.Unlock()
	if usable {
		return last, last.err
	}
	select {
	case <-reads:
	case <-time.After(readLimit):
		return nil, fmt.Errorf("the history in %s was not read within %s", l.Dir, readLimit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.last.err
}

// read reads the history and the prices as they are now.
func (l *Ledger) read(now time.Time, done chan struct{}) {
	begun, b := time.Now(), newBook(now, l.Zone)
	_, err := os.Stat(l.Dir) // a folder that does not exist must not look like an empty history
	if err == nil {
		_, err = history.Read(l.Dir, l.Cluster, history.Lease, b.take)
	}
	prices, unread := ReadPrices(l.Prices, false)
	b.prices, b.unpriced, b.err, b.took = prices, unread, err, time.Since(begun)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.reads = b, nil
	close(done)
}

// book is one reading: a bill for each period and each kind of limit.
type book struct {
	at       time.Time
	took     time.Duration
	periods  map[config.Period]period
	counted  map[string]time.Time
	prices   *Prices // nil: no price file
	unpriced error   // why the price file could not be read
	err      error   // why the history could not be read
}

// period is a period and its bills.
type period struct {
	from, to time.Time
	bills    map[By]*bill
}

func newBook(now time.Time, zone *time.Location) *book {
	b := &book{at: now, periods: map[config.Period]period{}, counted: map[string]time.Time{}}
	for _, per := range []config.Period{config.Day, config.Week, config.Month} {
		p := period{bills: map[By]*bill{}}
		p.from, p.to = periodOf(per, now, zone)
		for _, by := range []By{Account, User, Partition} {
			p.bills[by] = newBill(by, history.At(p.from), history.At(p.to), zone)
		}
		b.periods[per] = p
	}
	return b
}

// isOf reports whether the book's periods are the present ones.
func (b *book) isOf(now time.Time, zone *time.Location) bool {
	from, _ := periodOf(config.Day, now, zone)
	return b.periods[config.Day].from.Equal(from)
}

// take adds a lease to all bills.
func (b *book) take(e *history.Entry) {
	for _, p := range b.periods {
		for _, bill := range p.bills {
			bill.take(e)
		}
	}
	if e.Ongoing {
		id, _, _ := strings.Cut(e.ID, "+") // the number of a part
		b.counted[id] = e.To.Time()
	}
}

// spent returns what the limits of the configuration have taken.
func (b *book) spent(snap *scene.Snapshot, cfg *config.Config) (scene.Spent, error) {
	s := scene.Spent{Counted: b.counted, Hours: map[string]scene.Amount{}}
	priced := false
	for _, l := range cfg.Options.Limits {
		priced = priced || l.Cost > 0
	}
	switch {
	case priced && b.unpriced != nil:
		return s, b.unpriced
	case priced && b.prices == nil:
		return s, errors.New("a limit has a cost, and there is no prices.yaml")
	case priced:
		s.Currency = b.prices.Currency
	}
	for _, set := range cfg.FlexSets() {
		machine := snap.Templates[set.Template].MachineType
		known, _ := mig.KnownMachine(machine)
		hour := scene.Amount{GPU: float64(known.GPUs) * time.Hour.Seconds()}
		if priced && machine != "" {
			price, known := b.prices.machines[machine][modelOf(set.Flex.Capacity)]
			if !known {
				return s, fmt.Errorf("a limit has a cost, and prices.yaml lacks the %s price of %s", modelOf(set.Flex.Capacity), machine)
			}
			hour.Cost = price
		}
		s.Hours[set.Name] = hour
	}
	for _, l := range cfg.Options.Limits {
		p := b.periods[l.Per]
		taken := p.taken(l)
		used := scene.Amount{GPU: taken.gpu}
		if priced {
			var unpriced []string
			if used.Cost, unpriced = b.prices.of(taken); unpriced != nil && l.Cost > 0 {
				return s, fmt.Errorf("a limit has a cost, and prices.yaml lacks a price of %s", strings.Join(unpriced, ", "))
			}
		}
		s.Of = append(s.Of, scene.Spending{From: p.from, To: p.to, Used: used})
	}
	return s, nil
}

// taken returns what the machines of a limit took.
func (p period) taken(l config.Limit) sum {
	switch {
	case l.Account != "":
		return p.bills[Account].rows[l.Account]
	case l.User != "":
		return p.bills[User].rows[l.User]
	case l.Partition != "":
		return p.bills[Partition].rows[l.Partition]
	}
	return p.bills[Partition].total
}
