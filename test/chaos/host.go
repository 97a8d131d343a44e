package chaos

import (
	"fmt"
	"time"

	"slurmflex/flex"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// ailment is a way for calls to fail.
type ailment string

// The ailments of calls. The first ones apply only to Compute.
const (
	refused401  ailment = "are refused with 401"
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
	return append(slurmAilments(), refused503, refused500, refused429, rateLimited, notAllowed, notReady, gateway, cutOff, doubled, refused401)
}

func slurmAilments() []ailment { return []ailment{unsent, unanswered, hung, slow, lateAnswer} }

// sickness applies an ailment to one in oneIn calls for a while.
type sickness struct {
	ailment ailment
	calls   string // kind of calls, or everything
	oneIn   int
	lasts   time.Duration
}

// everything stands for calls of all kinds.
const everything = "all calls"

// apiFault makes calls to Compute fail.
func apiFault(e sickness) event {
	text := fmt.Sprintf("Compute: %s %s, one in %d, for %v", e.calls, e.ailment, e.oneIn, e.lasts)
	return happening{text, func(w *world, no int) {
		if e.ailment == notAllowed {
			w.watch.despair(forbidden, e.lasts)
		}
		w.faults.catch(no, compute, e)
	}}
}

// slurmFault makes calls to Slurm fail.
func slurmFault(e sickness) event {
	text := fmt.Sprintf("slurmctld: %s %s, one in %d, for %v", e.calls, e.ailment, e.oneIn, e.lasts)
	return happening{text, func(w *world, no int) {
		w.faults.catch(no, controller, e)
	}}
}

// slurmDown makes slurmctld unreachable for a while.
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

// comeback is how slurmctld returns.
type comeback string

// The ways for slurmctld to return.
const (
	reached   comeback = "is out of reach, and is reached again"
	restarted comeback = "dies, and is started"
	emptied   comeback = "dies, and is started without its state"
)

// forget makes slurmctld lose its state. Its jobs are never requested again. Existing machines
// do not register with it, so their nodes must be powered up again.
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

// maintain makes an admin reserve a nodeset for maintenance, and delete the reservation before it ends.
func maintain(set nodeSet, ahead, lasts time.Duration) event {
	return happening{fmt.Sprintf("an admin reserves %s for maintenance in %v, for %v", set.name, ahead, lasts), func(w *world, no int) {
		spec := slurm.ReservationSpec{Name: fmt.Sprint("window-", no), Start: time.Now().Add(ahead), Lasts: 2 * time.Hour, Maint: true}
		for _, name := range w.setup.slurm.Nodes {
			if setOf(name).name == set.name {
				spec.Nodes = append(spec.Nodes, name)
			}
		}
		w.journal.note("%s: %v", spec.Name, w.slurm.CreateReservation(w.ctx, spec))
		w.holds(spec.Name, no, ahead+lasts, func() { w.journal.note("%s is deleted: %v", spec.Name, w.slurm.DeleteReservation(w.ctx, spec.Name)) })
	}}
}

// stubborn makes slurmctld refuse every change of a node for a while. A command that includes
// this node still changes the other nodes.
func stubborn(node string, lasts time.Duration) event {
	return happening{fmt.Sprintf("slurmctld refuses to change %s, for %v", node, lasts), func(w *world, no int) {
		w.slurm.Freeze(node, true)
		w.holds("stubborn "+node, no, lasts, func() {
			w.slurm.Freeze(node, false)
			w.freed.Store(node, time.Now())
			w.faults.suffered(controller)
		})
	}}
}

// slurmAway is the key of the window in which slurmctld does not answer.
const slurmAway = "slurmctld"

// kill ends the daemon at one of its next calls, like kill -9.
type kill struct {
	calls int  // number of calls to Compute and Slurm before its end
	acts  bool // the last call takes effect
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
	w.main.alive(func(p *process) { p.doom(e) })
}

// reload restarts the daemon with another edition of its configuration.
func reload(to edition, lasts time.Duration) event {
	text := fmt.Sprintf("the daemon is stopped, and started %v later with configuration %d", lasts, to)
	return happening{text, func(w *world, _ int) {
		w.setEdition(to)
		w.main.restart(lasts)
		w.other.alive(func(p *process) { p.hangUp(w.setup.file(to)) })
	}}
}

// hangup sends SIGHUP after an admin has written another edition of the configuration, or half
// of it.
func hangup(to edition, half bool) event {
	if half {
		return happening{"half a configuration is written, and the daemon gets a SIGHUP", func(w *world, _ int) {
			file := w.setup.file(to)
			w.main.alive(func(p *process) { p.hangUp(file[:len(file)/2] + "\n\t}") })
		}}
	}
	return happening{fmt.Sprintf("the daemons get a SIGHUP with configuration %d", to), func(w *world, _ int) {
		w.setEdition(to)
		w.faults.suffered(program) // the deadlines of the old edition do not apply to the new one
		for _, s := range []*service{w.main, w.other} {
			s.alive(func(p *process) { p.hangUp(w.setup.file(to)) })
		}
	}}
}

// cron runs a command beside the daemon, as cron or an admin does: sync, gc, or the gc that
// adopts slurm-gcp's leftovers.
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

// hookFault drops, repeats or delays Slurm's calls of its programs for a while.
func hookFault(fate hookFate, lasts time.Duration) event {
	return happening{fmt.Sprintf("hooks %s, for %v", fate, lasts), func(w *world, no int) {
		w.fate.Store(fate)
		w.holds("hooks", no, lasts, func() { w.fate.Store(hookFate("")) })
	}}
}

// hookFate is what happens to a hook's call.
type hookFate string

// The fates.
const (
	lost      hookFate = "are lost"
	twice     hookFate = "come twice"
	reordered hookFate = "come late and in no order"
)

// clockJump puts the clock of the daemon's host off for a while.
func clockJump(by, lasts time.Duration) event {
	return happening{fmt.Sprintf("the daemon's clock jumps by %v, for %v", by, lasts), func(w *world, no int) {
		w.ahead.Store(int64(by))
		w.holds("clock", no, lasts, func() {
			w.ahead.Store(0)
			w.faults.suffered(program)
		})
	}}
}

// unblock makes an admin unblock a nodeset.
func unblock(set string) event {
	return happening{"an admin unblocks " + set, func(w *world, _ int) {
		nodes, err := flex.Unblock(w.ctx, w.slurm, w.config(), set)
		w.journal.note("unblocked %v: %v", nodes, err)
	}}
}

// block makes an admin block a nodeset for a while.
func block(set string, cancels bool, lasts time.Duration) event {
	return happening{fmt.Sprintf("an admin blocks %s for %v (cancel: %t)", set, lasts, cancels), func(w *world, _ int) {
		now := time.Now()
		nodes, err := flex.Block(w.ctx, w.slurm, w.config(), set, memo.Block{At: now, Until: now.Add(lasts), Cancels: cancels})
		w.journal.note("blocked %v: %v", nodes, err)
	}}
}

// takeover stops the primary slurmctld for a while: the backup takes over, and later hands
// back.
func takeover(lasts time.Duration) event {
	return happening{fmt.Sprintf("the primary's slurmctld fails, and is back %v later", lasts), func(w *world, no int) {
		const pause = 40 * time.Second // SlurmctldTimeout plus the time to read the state
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
