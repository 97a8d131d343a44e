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
func apiFault(e sickness) event {
	text := fmt.Sprintf("Compute: %s %s, one in %d, for %v", e.calls, e.ailment, e.oneIn, e.lasts)
	return happening{text, func(w *world, no int) {
		if e.ailment == notAllowed {
			w.watch.despair(forbidden, e.lasts)
		}
		w.faults.catch(no, compute, e)
	}}
}

// slurmFault has calls to Slurm go wrong.
func slurmFault(e sickness) event {
	text := fmt.Sprintf("slurmctld: %s %s, one in %d, for %v", e.calls, e.ailment, e.oneIn, e.lasts)
	return happening{text, func(w *world, no int) {
		w.faults.catch(no, controller, e)
	}}
}

// slurmDown is slurmctld out of reach for a while.
func slurmDown(lasts time.Duration, then comeback) event {
	return happening{fmt.Sprintf("slurmctld %s %v later", then, lasts), func(w *world, no int) {
		w.slurm.Down(errNoController)
		w.holds(slurmAway, no, lasts, func() {
			switch then {
			case restarted:
				w.slurm.Restart()
			case emptied:
				w.forget()
			}
			w.slurm.Up()
			w.faults.suffered(controller)
		})
	}}
}

// comeback is how slurmctld is there again.
type comeback string

// How slurmctld may come back.
const (
	reached   comeback = "is out of reach, and is reached again"
	restarted comeback = "dies, and is started"
	emptied   comeback = "dies, and is started without its state"
)

// forget has slurmctld lose its state. Nobody will ask for the jobs that it had, and it
// hears none of the machines that there are: their nodes are to be powered up again.
func (w *world) forget() {
	w.slurm.LoseState()
	w.watch.forget(w.setup.slurm.Nodes)
	for name := range w.known {
		w.machines.change(name, func(one *machine) { one.answers = false })
	}
	clear(w.jobs)
	w.byHand.Clear()
	w.journal.note("slurmctld has lost its state: %v", w.reserve())
}

// stubborn is a node of which slurmctld refuses every change, for a while. Those
// that are changed with it are.
func stubborn(node string, lasts time.Duration) event {
	return happening{fmt.Sprintf("slurmctld refuses to change %s, for %v", node, lasts), func(w *world, no int) {
		w.slurm.Freeze(node, true)
		w.holds("stubborn "+node, no, lasts, func() {
			w.slurm.Freeze(node, false)
			w.faults.suffered(controller)
		})
	}}
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

func (e kill) strike(w *world, _ int) {
	w.main.alive(func(p *process) {
		w.main.dooms = e
		p.doom(e)
	})
}

// reload stops the daemon and starts it with another edition of its
// configuration.
func reload(to edition, lasts time.Duration) event {
	text := fmt.Sprintf("the daemon is stopped, and started %v later with configuration %d", lasts, to)
	return happening{text, func(w *world, _ int) {
		w.setEdition(to)
		w.main.restart(lasts)
	}}
}

// hangup is a SIGHUP after somebody has written another edition of the
// configuration, or half of it.
func hangup(to edition, half bool) event {
	if half {
		return happening{"half a configuration is written, and the daemon gets a SIGHUP", func(w *world, _ int) {
			file := w.setup.file(to)
			w.main.alive(func(p *process) { p.hangUp(file[:len(file)/2] + "\n\t}") })
		}}
	}
	return happening{fmt.Sprintf("the daemon gets a SIGHUP with configuration %d", to), func(w *world, _ int) {
		w.setEdition(to)
		w.faults.suffered(program) // what is judged by the old one is not late by the new one
		w.main.alive(func(p *process) { p.hangUp(w.setup.file(to)) })
	}}
}

// secondDaemon is another daemon on the same host for a while: somebody has
// started one by hand, or a unit twice.
func secondDaemon(lasts time.Duration) event {
	return happening{fmt.Sprintf("a second daemon runs for %v", lasts), func(w *world, no int) {
		w.calls.wakeUp()
		p := w.newProcess("second", primary)
		p.begin(p.daemon)
		w.holds(fmt.Sprintf("second daemon %d", no), no, lasts, p.stop)
		w.holds("second daemon", no, lasts, func() {})
	}}
}

// cron is what cron starts beside the daemon, or an admin: sync, gc, or gc that
// adopts what slurm-gcp has left.
func cron(command string) event {
	text := "cron starts slurmflex " + command
	if command == adopt {
		text = "an admin starts slurmflex " + command
	}
	return happening{text, func(w *world, _ int) {
		var only []flex.Filter
		if command != "sync" {
			only = append(only, flex.OnlyCollect)
		}
		w.calls.wakeUp()
		p := w.newProcess("cron", primary)
		p.reconciler.Adopt = command == adopt
		p.begin(func() {
			_, err := p.reconciler.Sync(p.ctx, p.lock, only...)
			w.journal.note("%v: %v", text, err)
		})
	}}
}

// adopt is the gc that adopts.
const adopt = "gc --adopt-slurm-gcp"

// hookFault has Slurm's calls of its programs not come, come twice, or late.
func hookFault(fate hookFate, lasts time.Duration) event {
	return happening{fmt.Sprintf("hooks %s, for %v", fate, lasts), func(w *world, no int) {
		w.fate.Store(fate)
		w.holds("hooks", no, lasts, func() { w.fate.Store(hookFate("")) })
	}}
}

// hookFate is what becomes of a hook's call.
type hookFate string

// The fates.
const (
	lost      hookFate = "are lost"
	twice     hookFate = "come twice"
	reordered hookFate = "come late and in no order"
)

// clockJump is a wrong clock on the daemon's host, for a while.
func clockJump(by, lasts time.Duration) event {
	return happening{fmt.Sprintf("the daemon's clock jumps by %v, for %v", by, lasts), func(w *world, no int) {
		w.ahead.Store(int64(by))
		w.holds("clock", no, lasts, func() {
			w.ahead.Store(0)
			w.faults.suffered(program)
		})
	}}
}

// unblock is an admin who has a nodeset asked for again.
func unblock(set string) event {
	return happening{"an admin unblocks " + set, func(w *world, _ int) {
		nodes, err := flex.Unblock(w.ctx, w.slurm, w.config(), set)
		w.journal.note("unblocked %v: %v", nodes, err)
	}}
}

// takeover is the primary's slurmctld gone for a while: the backup's
// slurmctld takes over, and hands back.
func takeover(lasts time.Duration) event {
	return happening{fmt.Sprintf("the primary's slurmctld fails, and is back %v later", lasts), func(w *world, no int) {
		const pause = 40 * time.Second // SlurmctldTimeout, and what it takes to read the state
		change := func(primary bool) {
			w.primaryDown.Store(!primary)
			w.slurm.Down(errNoController)
			w.holds(slurmAway, no, pause, func() {
				w.slurm.Restart()
				w.slurm.Up()
				w.faults.suffered(controller)
			})
		}
		change(false)
		w.holds("takeover", no, lasts, func() { change(true) })
	}}
}
