//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"slurmflex/flex"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/lab"
)

// hour returns a one-hour job on named nodes.
func hour(partition string, nodes ...string) fakeslurm.JobSpec {
	return fakeslurm.JobSpec{Partition: partition, NodeList: nodes, Limit: time.Hour, Run: 10 * time.Minute}
}

func TestModelManualPowerChanges(t *testing.T) {
	w := newTwins(t, lab.Options{SuspendTimeout: 30})
	w.update("alpha-a3-0", "power_up", "power_up", "resume", "power_down enough", "power_up", "drain",
		"drain an admin's", "down broken", "resume")
	w.update("alpha-a3-[0-1]", "power_down_force it goes")
	w.update("alpha-a3-0", "resume")
	w.update("alpha-a3-[0-1]", "power_down")
	w.update("alpha-a3-1", "power_up")
	w.awaitNode(usual, "alpha-a3-1", "POWERED_DOWN")
	w.update("alpha-a3-2", "down broken", "power_up", "power_down", "resume")
	w.update("alpha-a3-3", "drain an admin's", "resume", "idle", "power_up by hand")
	w.update("alpha-a3-[3-4]", "resume")
	w.update("alpha-a3-5", " a reason alone")
	w.update("alpha-a3-4,alpha-a3-99", "power_up")
	w.update("alpha-a3-99", "power_up")
	w.update("alpha-a3-4", "nonsense")
}

// A10: when a reason is cleared depends on whether there is a slurmdbd.
func TestModelReasonsWithASlurmdbd(t *testing.T) {
	w := newTwins(t, lab.Options{Accounting: true})
	w.update("alpha-a3-0", "drain an admin's", "resume")
	w.update("alpha-a3-1", "down broken", "power_up", "resume")
	w.update("alpha-a3-2", "down broken", "resume")
	w.update("alpha-a3-3", " a reason alone", "power_up by hand", "resume")
	w.update("alpha-a3-4", "power_down_force it goes", "power_up")
}

func TestModelNodesOfAJob(t *testing.T) {
	w := newTwins(t, lab.Options{SuspendTimeout: 30})
	w.submit(hour("train", "alpha-a3-0", "alpha-a3-1"))
	w.update("alpha-a3-0", "power_down_force no capacity", "resume")
	w.start(1)
	w.cancel(1)
	w.submit(hour("train", "alpha-a3-1", "alpha-a3-2")) // one node is powering up without a job
	w.requeue(2)
	w.start(2)
	w.slurm(func(c *fakeslurm.Cluster) error { return c.RequeueHold(2) }, "scontrol", "requeuehold", "Incomplete", "2")
	w.release(2)
	w.start(2)
	w.hold(2)
	w.update("alpha-a3-[1-2]", "power_down_force held")
	w.release(2)
	w.both("cancel 2", func(s flex.Scheduler) error { return s.CancelJob(context.Background(), 2) })
	w.hold(2)
	w.hold(99)
	w.both("cancel 99", func(s flex.Scheduler) error { return s.CancelJob(context.Background(), 99) })

	w.submit(hour("train", "alpha-a3-5"))
	w.update("alpha-a3-5", "down broken", "power_down")
	w.start(3)
	w.update("alpha-a3-5", "resume", "power_up", "drain an admin's")
	w.cancel(3)
	w.submit(hour("train", "alpha-a3-6"))
	w.update("alpha-a3-6", "power_down_asap no capacity")
	w.submit(hour("train", "alpha-a3-6")) // it waits
	w.cancel(4)
	w.update("alpha-a3-6", "power_down_force no capacity")
	w.cancel(5)
}

func TestModelNonRequeueableJobs(t *testing.T) {
	w := newTwins(t, lab.Options{LongJobs: true})
	batch := hour("fixed", "alpha-g2-0")
	batch.NoRequeue = true
	w.submit(batch)
	w.requeue(1)
	w.update("alpha-g2-0", "power_down_force")
	w.both("comment on 1", func(s flex.Scheduler) error { return s.SetAdminComment(context.Background(), 1, "too late") })
	salloc := hour("fixed", "alpha-g2-1")
	salloc.Interactive = true
	w.submit(salloc)
	w.both("notify 2", func(s flex.Scheduler) error { return s.NotifyJob(context.Background(), 2, "hello") })
	w.requeue(2)
	w.both("comment on 2", func(s flex.Scheduler) error { return s.SetAdminComment(context.Background(), 2, "it waits") })
	w.update("alpha-g2-1", "power_down_force")
	waits := hour("fixed", "alpha-g2-1")
	waits.Begin = time.Now().Add(time.Hour)
	w.submit(waits)
	w.both("notify 3", func(s flex.Scheduler) error { return s.NotifyJob(context.Background(), 3, "hello") })
	w.hold(3)
	w.start(3)
	w.slurm(func(c *fakeslurm.Cluster) error { return c.SetLimit(3, 2*time.Hour) }, "scontrol", "update", "jobid=3", "timelimit=120")
	w.release(3)
	endless := hour("open", "alpha-g2-2")
	endless.Limit = 0
	w.submit(endless)
	w.update("alpha-g2-2", "power_down_force")
	nowhere := hour("nowhere")
	w.submit(nowhere)
	w.submit(hour("train", "alpha-g2-0"))
	w.submit(hour("train", "alpha-a3-99"))
	w.submit(fakeslurm.JobSpec{Partition: "train", Nodes: 9, Limit: time.Hour})
}

func TestModelResumeTimeout(t *testing.T) {
	w := newTwins(t, lab.Options{Static: 1, ResumeTimeout: 20})
	w.submit(hour("train", "alpha-a3-0", "alpha-a3-1"))
	lost := hour("train", "alpha-a3-2")
	lost.NoRequeue = true
	w.submit(lost)
	w.update("alpha-a3-3", "power_up by hand")
	w.update("alpha-st-0", "power_up")
	w.update("alpha-a3-3", "power_up") // once more
	w.update("alpha-a3-4", "power_up", "drain an admin's")
	for _, name := range []string{"alpha-a3-1", "alpha-a3-2", "alpha-st-0", "alpha-a3-3", "alpha-a3-4"} {
		w.awaitNode(periodic, name, "DOWN+CLOUD+POWERED_DOWN")
	}
	w.update("alpha-a3-0", "resume")
	w.update("alpha-a3-1", "power_down")
	w.update("alpha-a3-2", "idle")
	w.update("alpha-a3-3", "power_down_force again")
	w.update("alpha-st-0", "power_up")
	w.update("alpha-a3-2", "power_up")
	w.awaitNode(periodic, "alpha-st-0", "DOWN+CLOUD+POWERED_DOWN")
	w.awaitNode(periodic, "alpha-a3-2", "DOWN+CLOUD+POWERED_DOWN")
	w.update("alpha-st-0", "power_up")
	w.boot("alpha-st-0")
}

func TestModelReservations(t *testing.T) {
	w := newTwins(t, lab.Options{})
	ctx := context.Background()
	begun := time.Now()
	reserve := func(name string, start time.Duration, nodes ...string) {
		w.both("reserve "+name, func(s flex.Scheduler) error {
			return s.CreateReservation(ctx, slurm.ReservationSpec{Name: name, Nodes: nodes, Start: begun.Add(start), Lasts: time.Hour, Maint: true})
		})
	}
	set := func(name string, nodes ...string) {
		w.both("change "+name, func(s flex.Scheduler) error {
			return s.SetReservation(ctx, name, slurm.ReservationChange{Nodes: nodes})
		})
	}
	remove := func(name string) {
		w.both("remove "+name, func(s flex.Scheduler) error { return s.DeleteReservation(ctx, name) })
	}
	reserve("later", time.Hour, "alpha-a3-0", "alpha-a3-1")
	reserve("later", time.Hour, "alpha-a3-2")
	reserve("unknown", time.Hour, "alpha-a3-2", "alpha-a3-99")
	reserve("begun", -time.Minute, "alpha-a3-7")
	reserve("soon", 40*time.Second, "alpha-a3-6")
	w.both("close a node", func(s flex.Scheduler) error {
		return s.CreateReservation(ctx, slurm.ReservationSpec{Name: "rest", Nodes: []string{"alpha-a3-5"}, Start: begun, Lasts: 10 * time.Minute})
	})
	w.submit(hour("train", "alpha-a3-0"))
	short := hour("train", "alpha-a3-1")
	short.Limit = 20 * time.Minute
	w.submit(short)
	w.submit(hour("train", "alpha-a3-7"))
	all := hour("train")
	all.Nodes = 8
	w.submit(all)
	w.submit(hour("train", "alpha-a3-5"))
	set("later", "alpha-a3-0", "alpha-a3-2")
	set("later", "alpha-a3-0", "alpha-a3-99")
	set("later", "alpha-a3-99")
	set("never", "alpha-a3-0")
	w.both("change its start", func(s flex.Scheduler) error {
		return s.SetReservation(ctx, "later", slurm.ReservationChange{Start: begun.Add(2 * time.Hour)})
	})
	w.awaitNode(periodic, "alpha-a3-6", "MAINTENANCE")
	w.update("alpha-a3-6", "power_up", "power_down_force")
	remove("begun")
	remove("begun")
	remove("later")
	w.cancel(4)
	remove("rest")
}

func TestModelArraysAndPriorities(t *testing.T) {
	w := newTwins(t, lab.Options{SuspendTimeout: 30})
	tasks := hour("train")
	tasks.Tasks = 3
	w.submit(tasks)
	w.slurm(func(c *fakeslurm.Cluster) error { return c.Cancel(2) }, "scancel", "1_0")
	w.hold(1)
	w.cancel(1)
	w.update("alpha-a3-[0-7]", "power_down_force", "resume")
	all := hour("train")
	all.Nodes = 8
	w.submit(all)
	wide := hour("train")
	wide.Nodes, wide.Tasks = 4, 4
	w.submit(wide)
	w.hold(5)
	urgent := hour("train")
	urgent.Nodes, urgent.Priority = 8, 4294901759
	w.submit(urgent)
	w.slurm(func(c *fakeslurm.Cluster) error { return c.SetPriority(6, 7) }, "scontrol", "update", "jobid=6", "priority=7")
	w.cancel(4)
}

// From 23.02 on, an array shows the start of its first task and the nodes of its last; before, both are
// those of the last.
func TestModelArrayShowsThePlanOfItsLastTask(t *testing.T) {
	w := newTwins(t, lab.Options{Backfill: 2})
	begun := time.Now()
	plan := func(j slurm.Job) string {
		return fmt.Sprintf("%s on %s in about %d hours", j.Reason, slurm.Fold(j.Planned), int(j.Start.Sub(begun).Round(time.Hour).Hours()))
	}
	w.submit(hour("train", "alpha-a3-0"))
	tasks := hour("train", "alpha-a3-0")
	tasks.Tasks = 3
	w.submit(tasks)
	hours := 1
	if !w.lab.Version.AtLeast(23, 2) {
		hours = 3
	}
	w.shows(2, fmt.Sprintf("Resources on alpha-a3-0 in about %d hours", hours), plan)
}

func TestModelSilentNodesAndRestarts(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.update("alpha-g2-[0-3]", "power_up")
	w.boot("alpha-g2-0", "alpha-g2-1", "alpha-g2-2")
	w.bootLongAgo("alpha-g2-3") // it does not count as powered up
	w.boot("alpha-g2-3")
	w.submit(hour("open", "alpha-g2-0"))
	w.submit(hour("open", "alpha-g2-1"))
	lost := hour("open", "alpha-g2-3")
	lost.NoRequeue = true
	w.submit(lost)
	w.submit(hour("train", "alpha-a3-0"))
	w.submit(hour("fixed", "alpha-g2-2")) // on 24.11 its node will be powered down after it
	w.update("alpha-a3-1", "power_up")
	w.update("alpha-a3-2", "power_down_force")
	w.update("alpha-a3-3", "down broken")
	w.restart()
	w.vanish("alpha-g2-0", "alpha-g2-1", "alpha-g2-3")
	w.limit = periodic // the real slurmctld notices earlier if it has to end a job there
	w.cancel(1)
	w.await(2*periodic, "the nodes to be missed", func() bool {
		return w.model.JobState(2) == slurm.JobPending && strings.HasPrefix(w.node("alpha-g2-0"), "DOWN")
	})
	w.update("alpha-g2-0", "resume")
	w.update("alpha-g2-1", "power_up")
	w.boot("alpha-g2-1")
	w.update("alpha-g2-1", "down an admin's")
	w.await(periodic, "it to be back", func() bool { return w.node("alpha-g2-1") == "IDLE+CLOUD" })
	w.vanish("alpha-g2-2")
	w.cancel(5)
	w.reaches(2*periodic, 5, slurm.JobCancelled)
}
