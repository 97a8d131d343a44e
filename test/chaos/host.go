package chaos

import (
	"fmt"
	"time"

	"slurmflex/flex"
)

// ailment is a way in which calls go wrong.
type ailment string

// What may befall a call. The first ones are Compute's alone.
const (
	refused503  ailment = "are refused with 503"
	refused500  ailment = "are refused with 500"
	refused429  ailment = "are refused with 429"
	rateLimited ailment = "are refused with 403 rateLimitExceeded"
	notAllowed  ailment = "are refused with 403 forbidden"
	notReady    ailment = "are refused with 400 resourceNotReady"
	gateway     ailment = "are answered by a gateway with 502 and a page of HTML"
	cutOff      ailment = "act, and their answer is cut off"
	doubled     ailment = "reach it twice"

	unsent     ailment = "do not reach it"
	unanswered ailment = "act, and are not answered"
	hung       ailment = "hang"
	slow       ailment = "act late"
	lateAnswer ailment = "act, and are answered late"
)

// forbidden is the reason of notAllowed.
const forbidden = "forbidden"

func apiAilments() []ailment {
	return append(slurmAilments(), refused503, refused500, refused429, rateLimited, notAllowed, notReady, gateway, cutOff, doubled)
}

func slurmAilments() []ailment { return []ailment{unsent, unanswered, hung, slow, lateAnswer} }

// sickness is an ailment of one call in so many, for a while.
type sickness struct {
	ailment ailment
	calls   string // of which kind; everything for all
	oneIn   int
	lasts   time.Duration
}

// everything stands for calls of all kinds.
const everything = "all calls"

// apiFault has calls to Compute go wrong.
type apiFault struct{ sickness }

func (e apiFault) String() string {
	return fmt.Sprintf("Compute: %s %s, one in %d, for %v", e.calls, e.ailment, e.oneIn, e.lasts)
}

func (e apiFault) strike(w *world, no int) {
	if e.ailment == notAllowed {
		w.watch.despair(forbidden, e.lasts)
	}
	w.ails.catch(no, compute, e.sickness)
}

// slurmFault has calls to Slurm go wrong.
type slurmFault struct{ sickness }

func (e slurmFault) String() string {
	return fmt.Sprintf("slurmctld: %s %s, one in %d, for %v", e.calls, e.ailment, e.oneIn, e.lasts)
}

func (e slurmFault) strike(w *world, no int) { w.ails.catch(no, controller, e.sickness) }

// slurmDown is slurmctld out of reach for a while.
type slurmDown struct {
	lasts time.Duration
	then  comeback
}

// comeback is how slurmctld is there again.
type comeback string

// How slurmctld may come back.
const (
	reached   comeback = "is out of reach, and is reached again"
	restarted comeback = "dies, and is started"
	emptied   comeback = "dies, and is started without its state"
)

func (e slurmDown) String() string { return fmt.Sprintf("slurmctld %s %v later", e.then, e.lasts) }

func (e slurmDown) strike(w *world, no int) {
	w.slurm.Down(errNoController)
	w.holds(slurmAway, no, e.lasts, func() {
		switch e.then {
		case restarted:
			w.slurm.Restart()
		case emptied:
			w.forget()
		}
		w.slurm.Up()
		w.ails.suffered(controller)
	})
}

// forget has slurmctld lose its state. Nobody will ask for the jobs that it had.
func (w *world) forget() {
	w.slurm.LoseState()
	w.watch.forget(w.setup.slurm.Nodes)
	clear(w.jobs)
	w.mu.Lock()
	clear(w.byHand)
	w.mu.Unlock()
	w.journal.note("slurmctld has lost its state: %v", w.reserve())
}

// stubborn is a node of which slurmctld refuses every change, for a while. Those
// that are changed with it are.
type stubborn struct {
	node  string
	lasts time.Duration
}

func (e stubborn) String() string {
	return fmt.Sprintf("slurmctld refuses to change %s, for %v", e.node, e.lasts)
}

func (e stubborn) strike(w *world, no int) {
	w.slurm.Freeze(e.node, true)
	w.holds("stubborn "+e.node, no, e.lasts, func() {
		w.slurm.Freeze(e.node, false)
		w.ails.suffered(controller)
	})
}

// slurmAway is the key of the time in which slurmctld does not answer.
const slurmAway = "slurmctld"

// kill ends the daemon, as kill -9 does, around one of its next calls.
type kill struct {
	calls int  // to Compute and Slurm, that it still makes
	acts  bool // the last of them reaches its goal
	lasts time.Duration
}

func (e kill) String() string {
	when := "before"
	if e.acts {
		when = "after"
	}
	return fmt.Sprintf("the daemon is killed %s its next call but %d, and started %v later", when, e.calls, e.lasts)
}

func (e kill) strike(w *world, _ int) { w.main.doom(e) }

// reload stops the daemon and starts it with another edition of its
// configuration.
type reload struct {
	edition edition
	lasts   time.Duration // from one to the other
}

func (e reload) String() string {
	return fmt.Sprintf("the daemon is stopped, and started %v later with configuration %d", e.lasts, e.edition)
}

func (e reload) strike(w *world, _ int) {
	w.setEdition(e.edition)
	w.main.restart(e.lasts)
}

// hangup is a SIGHUP after somebody has written another edition of the
// configuration, or half of it.
type hangup struct {
	edition edition
	half    bool
}

func (e hangup) String() string {
	if e.half {
		return "half a configuration is written, and the daemon gets a SIGHUP"
	}
	return fmt.Sprintf("the daemon gets a SIGHUP with configuration %d", e.edition)
}

func (e hangup) strike(w *world, _ int) {
	file := w.setup.file(e.edition)
	if e.half {
		w.main.hangUp(file[:len(file)/2] + "\n\t}")
		return
	}
	w.setEdition(e.edition)
	w.ails.suffered(program) // what is judged by the old one is not late by the new one
	w.main.hangUp(file)
}

// secondDaemon is another daemon on the same host for a while: somebody has
// started one by hand, or a unit twice.
type secondDaemon struct{ lasts time.Duration }

func (e secondDaemon) String() string { return fmt.Sprintf("a second daemon runs for %v", e.lasts) }

func (e secondDaemon) strike(w *world, no int) {
	w.calls.hint()
	p := w.newProcess("second", primary)
	p.begin(p.daemon)
	w.holds(fmt.Sprintf("second daemon %d", no), no, e.lasts, p.stop)
}

// cron is what cron starts beside the daemon.
type cron struct{ gc, adopts bool }

func (e cron) String() string {
	switch {
	case e.adopts:
		return "an admin starts slurmflex gc --adopt-slurm-gcp"
	case e.gc:
		return "cron starts slurmflex gc"
	}
	return "cron starts slurmflex sync"
}

func (e cron) strike(w *world, _ int) {
	var only []flex.Filter
	if e.gc {
		only = append(only, flex.OnlyCollect)
	}
	w.calls.hint()
	p := w.newProcess("cron", primary)
	p.reconciler.Adopt = e.adopts
	p.begin(func() {
		_, err := p.reconciler.Sync(p.ctx, p.lock, only...)
		w.journal.note("%v: %v", e, err)
	})
}

// hookFault has Slurm's calls of its programs not come, come twice, or late.
type hookFault struct {
	fate  hookFate
	lasts time.Duration
}

// hookFate is what becomes of a hook's call.
type hookFate string

// The fates.
const (
	lost      hookFate = "are lost"
	twice     hookFate = "come twice"
	reordered hookFate = "come late and in no order"
)

func (e hookFault) String() string { return fmt.Sprintf("hooks %s, for %v", e.fate, e.lasts) }

func (e hookFault) strike(w *world, no int) {
	w.setFate(e.fate)
	w.holds("hooks", no, e.lasts, func() { w.setFate("") })
}

// clockJump is a wrong clock on the daemon's host, for a while.
type clockJump struct {
	by    time.Duration
	lasts time.Duration
}

func (e clockJump) String() string {
	return fmt.Sprintf("the daemon's clock jumps by %v, for %v", e.by, e.lasts)
}

func (e clockJump) strike(w *world, no int) {
	w.ahead.Store(int64(e.by))
	w.holds("clock", no, e.lasts, func() {
		w.ahead.Store(0)
		w.ails.suffered(program)
	})
}

// unblock is an admin who has a nodeset asked for again.
type unblock struct{ set string }

func (e unblock) String() string { return "an admin unblocks " + e.set }

func (e unblock) strike(w *world, _ int) {
	nodes, err := flex.Unblock(w.ctx, w.slurm, w.config(), e.set)
	w.journal.note("unblocked %v: %v", nodes, err)
}

// takeover is the primary's slurmctld gone for a while: the backup's
// slurmctld takes over, and hands back.
type takeover struct{ lasts time.Duration }

func (e takeover) String() string {
	return fmt.Sprintf("the primary's slurmctld fails, and is back %v later", e.lasts)
}

func (e takeover) strike(w *world, no int) {
	const pause = 40 * time.Second // SlurmctldTimeout, and what it takes to read the state
	change := func(primary bool) {
		w.primaryDown.Store(!primary)
		w.slurm.Down(errNoController)
		w.holds(slurmAway, no, pause, func() {
			w.slurm.Restart()
			w.slurm.Up()
			w.ails.suffered(controller)
		})
	}
	change(false)
	w.holds("takeover", no, e.lasts, func() { change(true) })
}
