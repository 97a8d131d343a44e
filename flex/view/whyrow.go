package view

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan"
	"slurmflex/mig"
)

// row tells what the nodes of a row are doing, and what comes next.
func (t *teller) row(r Row) {
	if !r.KnownAt.IsZero() {
		t.sayLastKnown(r)
	}
	switch r.State {
	case Asking:
		t.asking(r)
	case Queued:
		t.queued(r)
	case Waiting:
		t.waiting(r)
	case Returned:
		t.say("Its nodes %s go back to Slurm, and the job is to %s: %s.", r.Nodes, becomes(r.Then), strings.TrimSuffix(r.Obstacle, "."))
	case Cancelling:
		t.say("Request %s/%s for %s is being cancelled, for nobody wants it any more.", r.Group, r.Request, r.Nodes)
	case Lost:
		t.say("%s.", strings.ToUpper(r.Obstacle[:1])+r.Obstacle[1:])
		t.say("Next: after SlurmdTimeout without an answer, Slurm requeues the job, or ends it if it cannot be requeued.")
	case Booting:
		t.booting(r)
	case Running, Idle, Down:
		t.machine(r)
	case Leaving:
		t.say("The machines of %s are being deleted.", r.Nodes)
	case Stranded:
		t.say("Machines %s run for no node that slurmflex knows; they are deleted ten minutes after they were made.", r.Nodes)
	}
}

// sayLastKnown says, once for each region, that what follows is of an earlier time.
func (t *teller) sayLastKnown(r Row) {
	for _, region := range t.Regions {
		text := fmt.Sprintf("Region %s could not be read (%s); what follows was last known at %s.",
			r.Region, strings.TrimSuffix(region.ReadFail, "."), t.at(r.KnownAt))
		if region.Name == r.Region && !slices.Contains(t.story.Sentences, text) {
			t.say("%s", text)
		}
	}
}

// asked says for what Google was or will be asked.
func (t *teller) asked(r Row) string {
	machine := "machines"
	if set, ok := t.NodeSet(r.NodeSet); ok && set.Machine != "" {
		machine = "× " + set.Machine
	}
	return fmt.Sprintf("%d %s (%s) for %s", r.Count, machine, r.Nodes, r.Lease.Limit())
}

func (t *teller) asking(r Row) {
	t.earlier(r)
	if r.Request == "" {
		t.say("slurmflex is about to ask Google for %s, in group %s.", t.asked(r), r.Group)
	} else {
		t.say("At %s slurmflex asked Google for %s: request %s/%s.", t.at(t.live(r).CreatedAt), t.asked(r), r.Group, r.Request)
	}
	t.say("Next: Google checks the request, which takes a minute or two, and puts it into its queue.")
}

func (t *teller) queued(r Row) {
	t.earlier(r)
	live := t.live(r)
	t.say("At %s slurmflex asked Google for %s: request %s/%s.", t.at(live.CreatedAt), t.asked(r), r.Group, r.Request)
	come := "all of them come at once"
	if r.Count == 1 {
		come = "the machine comes"
	}
	lacks, next := "there is no capacity for it yet", "When it has capacity, "+come+"; nobody can say when"
	if live.Cause == mig.CauseQuota.String() {
		lacks, next = "a quota of the project does not allow it yet", "When others have given back enough of the quota, or an admin has got more of it, "+come
	}
	t.say("The request has been in Google's queue for %s: %s.", t.since(live.CreatedAt), lacks)
	if r.Error != "" {
		t.say("Google's last attempt said: %s.", strings.TrimSuffix(r.Error, "."))
	}
	t.say("Next: Google goes on trying by itself. %s.", next)
	if !r.GiveUpAt.IsZero() {
		t.say("If they have not come by %s (provision_timeout), slurmflex gives up, and the job is to %s.", t.at(r.GiveUpAt), becomes(r.Then))
	}
}

// live is the live request of a row. If that is not known it was made when the
// row began to wait.
func (t *teller) live(r Row) Request {
	g, _ := t.find(r.Group)
	for _, request := range g.Requests {
		if request.Name == r.Request {
			return request
		}
	}
	return Request{CreatedAt: r.Since}
}

func (t *teller) waiting(r Row) {
	if known, unread := t.lastKnown(r.Region); unread {
		if known.IsZero() {
			t.say("Whether machines for %s are requested is not known: %s.", r.Nodes, strings.TrimSuffix(r.Obstacle, "."))
		} else {
			t.say("No request for %s was in Google's queue then, and slurmflex makes none until the region can be read.", r.Nodes)
		}
		t.say("Next: slurmflex reads region %s again in each reconcile pass, and goes on from what it finds.", r.Region)
		return
	}
	if r.Failed == 0 { // else the obstacle tells of them
		t.earlier(r)
	}
	t.say("Nothing is asked of Google for %s now: %s.", r.Nodes, strings.TrimSuffix(r.Obstacle, "."))
	if r.Then == string(plan.Lose) {
		t.say("Next: its nodes are taken at %s, and Slurm ends the job, for it would not requeue it. Its owner was told.", t.at(r.GiveUpAt))
		return
	}
	switch set, _ := t.NodeSet(r.NodeSet); {
	case !r.NextAt.IsZero():
		t.say("Next: slurmflex asks again at %s, for %s.", t.at(r.NextAt), t.asked(r))
	case set.Block != nil:
		t.say("Next: slurmflex asks again at %s, or as soon as an instance of the nodeset comes up or an admin lifts the block.", t.at(set.Block.Until))
	default:
		t.say("Next: slurmflex asks for %s as soon as that is over.", t.asked(r))
	}
	if !r.GiveUpAt.IsZero() {
		t.say("If they have not come by %s (provision_timeout), the job is to %s.", t.at(r.GiveUpAt), becomes(r.Then))
	}
}

// earlier tells of the attempts that failed before.
func (t *teller) earlier(r Row) {
	g, _ := t.find(r.Group)
	for _, request := range g.Requests {
		if request.State == "FAILED" && request.Name != r.Request {
			t.say("An earlier attempt, request %s/%s of %s, failed (%s): %s.", g.Name, request.Name,
				t.at(request.CreatedAt), request.Cause, strings.TrimSuffix(request.Error, "."))
		}
	}
}

func (t *teller) booting(r Row) {
	t.say("The machines of %s came at %s%s, and are booting: their slurmd has not registered with Slurm yet.",
		r.Nodes, t.at(r.Since), inZone(r.Zone))
	if !r.GiveUpAt.IsZero() {
		t.say("Next: the job begins when all have registered. Those that have not by %s (boot_timeout) are powered down.", t.at(r.GiveUpAt))
	} else {
		t.say("Next: the job begins when all have registered.")
	}
}

// machine tells of machines that have come up.
func (t *teller) machine(r Row) {
	machines, are, their, them := "machines", "are", "Their", "them"
	if r.Count == 1 {
		machines, are, their, them = "machine", "is", "Its", "it"
	}
	text := fmt.Sprintf("The %s of %s came at %s%s", machines, r.Nodes, t.at(r.Since), inZone(r.Zone))
	switch r.State {
	case Running:
		text += " and " + are + " in use"
	case Idle:
		text += " and " + are + " idle"
	default:
		text += ", and Slurm does not use " + them + " now"
	}
	if r.EndsAt.IsZero() {
		t.say("%s. Google names no end of the lease yet.", text)
		return
	}
	t.say("%s. %s lease ends at %s, in %s: then Google deletes %s, whatever still runs there.",
		text, their, t.at(r.EndsAt), t.until(r.EndsAt), them)
	if r.State == Idle && !r.Static {
		t.say("Next: a job gets %s, or Slurm powers %s down after its SuspendTime.", them, them)
	}
}

func inZone(zone string) string {
	if zone == "" {
		return ""
	}
	return " in " + zone
}

// becomes says what a job is to do when its nodes are given up.
func becomes(then string) string {
	switch then {
	case "hold":
		return "be held"
	case "cancel":
		return "be cancelled"
	}
	return "be requeued"
}
