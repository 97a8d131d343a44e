package history

import "slurmflex/mig"

// what is a kind of news.
type what int

// The kinds of news.
const (
	RequestFailed   what = iota // of the wait, for News.Cause
	MachinesCreated             // which ends the wait
	NodeRegistered              // of the lease, News.Seconds after its start
	MachineReused               // by a job that the lease was not requested for
	LeaseEnded                  // or a part of it
)

// News is something that a look has found to have happened to a wait or a lease. It is reported once.
type News struct {
	What    what
	Entry   Entry
	Seconds int64
	Cause   mig.Cause
}

// note adds to the look's news. What the first look at a region shows has happened at any time
// before it.
func (l *look) note(n News) {
	if l.looked[n.Entry.Region] != 0 {
		l.news = append(l.news, n)
	}
}
