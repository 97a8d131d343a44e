package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// saying has the last group say what its members are: those that have a VM, and
// those that have lost theirs.
func saying(there, lost string) func(*setting) {
	return func(s *setting) {
		var all []mig.Member
		for _, n := range names(there) {
			all = append(all, mig.Member{Name: n, Status: "RUNNING", Action: "NONE"})
		}
		for _, n := range names(lost) {
			all = append(all, mig.Member{Name: n, Action: "NONE"})
		}
		s.say(Members{All: all})
	}
}

// silent has the last group not say what its members are.
func silent(s *setting) { s.say(Members{Err: errors.New("503")}) }

func (s *setting) say(m Members) {
	if s.Members == nil {
		s.Members = map[mig.GroupID]Members{}
	}
	g := s.Groups[len(s.Groups)-1]
	s.Members[g.ID()] = m
}

func brought(list string, ago time.Duration) func(*setting) {
	r := request("a1", mig.Succeeded, list, time.Hour)
	r.Created = noon.Add(-ago)
	return group("alpha-a3-job-7", forJob("a3", 7), r)
}

// B4: a request that has waited for long may have ended a moment ago.
func TestAnInstanceThatAGroupCountsAndThatDoesNotShow(t *testing.T) {
	wanted := []func(*setting){nodes("alpha-a3-0", poweringUp), job(7, "train", "1:00:00", slurm.JobConfiguring, "alpha-a3-0")}
	for name, c := range map[string]struct {
		given []func(*setting)
		want  []string
	}{
		"is there if the group says so, however long its request has waited": {
			given: append(wanted, brought("alpha-a3-0", 49*time.Hour), counting(1), saying("alpha-a3-0", "")),
		},
		"is there though the group's size may also be that of a machine which is leaving": {
			given: []func(*setting){
				nodes("alpha-a3-0", poweringUp), nodes("alpha-a3-1", "IDLE+CLOUD"), job(7, "train", "1:00:00", slurm.JobConfiguring, "alpha-a3-0"),
				brought("alpha-a3-[0-1]", time.Minute), vms("alpha-a3-1", "alpha-a3-job-7", "STOPPING"), counting(1), saying("alpha-a3-0", ""),
			},
		},
		"may be there as long as the group says nothing, also when the request that brought it is off the records": {
			given: append(wanted, group("alpha-a3-job-7", forJob("a3", 7)), counting(1), silent),
		},
		"may be there as long as the group says nothing": {
			given: append(wanted, brought("alpha-a3-0", 49*time.Hour), counting(1), silent),
		},
		"may show soon, whatever the group says": {
			given: append(wanted, brought("alpha-a3-0", 9*time.Minute), counting(1), saying("", "alpha-a3-0")),
		},
		"is lost if the group says so, and its place taken by another group": {
			given: append(wanted, brought("alpha-a3-0", 10*time.Minute), counting(1), saying("", "alpha-a3-0")),
			want: []string{
				"create group alpha-a3-job-7-r1 in us-central1",
				"request 1 node (alpha-a3-0) in alpha-a3-job-7-r1/a1 for 01:00:00",
			},
		},
		"has left a group that counts it and has it not: that group may bring it again": {
			given: append(wanted, brought("alpha-a3-0", 10*time.Minute), counting(1), saying("", "")),
			want:  []string{"request 1 node (alpha-a3-0) in alpha-a3-job-7/a2 for 01:00:00"},
		},
		"was asked for again too early: that is taken back once it shows": {
			given: append(wanted, brought("alpha-a3-0", 10*time.Minute), vms("alpha-a3-0", "alpha-a3-job-7", "STAGING"), counting(1),
				group("alpha-a3-job-7-r1", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour))),
			want: []string{"cancel request alpha-a3-job-7-r1/a1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, actions(Compute(alphaConfig(t), seen(c.given...))))
		})
	}
	p := Compute(alphaConfig(t), seen(append(wanted, brought("alpha-a3-0", time.Hour), counting(1), silent)...))
	assert.Contains(t, p.Problems.Texts(), "group us-central1/alpha-a3-job-7 counts machines that Compute does not list, and is left alone until its members can be listed: 503")
}

// B1: the list of instances alone says that the group is empty.
func TestAGroupThatCountsMachinesWhichDoNotShow(t *testing.T) {
	works := func(s *setting) {
		nodes("alpha-a3-[0-1]", running)(s)
		job(7, "train", "1:00:00", slurm.JobRunning, "alpha-a3-[0-1]")(s)
		brought("alpha-a3-[0-1]", time.Hour)(s)
	}
	recordless := func(s *setting) { s.Groups[0].Requests = nil }
	gone := []string{"delete group alpha-a3-job-7"}
	for name, c := range map[string]struct {
		given []func(*setting)
		want  []string
	}{
		"stays while its job runs and the list lacks them":             {given: []func(*setting){works, counting(2), saying("alpha-a3-[0-1]", "")}},
		"or the list of requests too":                                  {given: []func(*setting){works, recordless, counting(2), saying("alpha-a3-[0-1]", "")}},
		"or it does not say what it has":                               {given: []func(*setting){works, recordless, counting(2), silent}},
		"or nobody has asked it":                                       {given: []func(*setting){works, recordless, counting(2)}},
		"or they show without a maker":                                 {given: []func(*setting){works, counting(2), saying("alpha-a3-[0-1]", ""), vms("alpha-a3-[0-1]", "", "RUNNING")}},
		"or with another, of which there is no request for them":       {given: []func(*setting){works, counting(2), saying("alpha-a3-[0-1]", ""), vms("alpha-a3-[0-1]", "alpha-a3-job-8", "RUNNING"), group("alpha-a3-job-8", forJob("a3", 8)), job(8, "train", "1:00:00", slurm.JobPending, "")}},
		"stays without a count too, by the record of its request":      {given: []func(*setting){works, vms("alpha-a3-[0-1]", "", "RUNNING")}},
		"stays while one of its nodes is up for no job":                {given: []func(*setting){nodes("alpha-a3-0", "IDLE+CLOUD"), brought("alpha-a3-0", time.Hour), counting(1), saying("alpha-a3-0", ""), vms("alpha-a3-0", "", "RUNNING")}},
		"stays until they show, also when nobody needs them":           {given: []func(*setting){nodes("alpha-a3-[0-1]", poweredDown), brought("alpha-a3-[0-1]", time.Minute), counting(2), saying("alpha-a3-[0-1]", "")}},
		"goes when it has lost them, and nobody needs them":            {given: []func(*setting){nodes("alpha-a3-[0-1]", poweredDown), brought("alpha-a3-[0-1]", time.Minute), counting(2), saying("", "alpha-a3-[0-1]")}, want: gone},
		"not if it does not say that it is these":                      {given: []func(*setting){nodes("alpha-a3-[0-1]", poweredDown), brought("alpha-a3-[0-1]", time.Minute), counting(2), silent}},
		"goes when it has lost them, and their nodes have others":      {given: []func(*setting){works, counting(2), saying("", "alpha-a3-[0-1]"), group("alpha-a3-job-7-r1", forJob("a3", 7), request("a1", mig.Succeeded, "alpha-a3-[0-1]", time.Hour)), counting(2), vms("alpha-a3-[0-1]", "alpha-a3-job-7-r1", "RUNNING")}, want: gone},
		"stays when it has lost them, and nobody else has brought any": {given: []func(*setting){works, counting(2), saying("", "alpha-a3-[0-1]")}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, actions(Compute(alphaConfig(t), seen(c.given...)))) })
	}
}

// B1: what shows without its maker for a moment is taken for nobody's.
func TestAMachineThatShowsWithoutItsMaker(t *testing.T) {
	waits := []func(*setting){nodes("alpha-a3-0", poweringUp), job(7, "train", "1:00:00", slurm.JobConfiguring, "alpha-a3-0")}
	for name, c := range map[string]struct {
		given []func(*setting)
		want  []string
	}{
		"does not cost the request that is bringing it": {
			given: append(waits, group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour)),
				counting(1), creating(1), vms("alpha-a3-0", "", "PROVISIONING"), aged(20*time.Second)),
		},
		"nor if it shows with one that does not count it": {
			given: append(waits, group("alpha-a3-job-8", forJob("a3", 8)), job(8, "train", "1:00:00", slurm.JobPending, ""), created(10*time.Second),
				group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour)),
				counting(1), creating(1), vms("alpha-a3-0", "alpha-a3-job-8", "PROVISIONING"), aged(20*time.Second)),
		},
		"is another's if it was there before that request": {
			given: append(waits, group("alpha-a3-job-7", forJob("a3", 7), request("a1", mig.Accepted, "alpha-a3-0", time.Hour)),
				counting(1), creating(1), vms("alpha-a3-0", "", "RUNNING"), aged(31*time.Second)),
			want: []string{"cancel request alpha-a3-job-7/a1", `set AdminComment of job 7: "flex-start: instance alpha-a3-0 in us-central1-a has the name of ` +
				`a node that waits, and slurmflex did not create it; unless it joins Slurm by itself, delete it"`},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, actions(Compute(alphaConfig(t), seen(c.given...)))) })
	}
	booting := seen(append(waits, brought("alpha-a3-0", time.Hour), counting(1), saying("alpha-a3-0", ""),
		vms("alpha-a3-0", "", "RUNNING"), aged(31*time.Minute))...)
	assert.Empty(t, Compute(alphaConfig(t), booting).Problems.Texts(), "it is not to be deleted as a stranger's")
}

// B1, B4: a list that lacks the machines of a gang for one pass gives up no job.
func TestAJobKeepsItsNodesWhoseMachinesDoNotShow(t *testing.T) {
	s := seen(nodes("alpha-a3-[0-1]", poweringUp), job(7, "train", "1:00:00", slurm.JobConfiguring, "alpha-a3-[0-1]"), started(7, 3*time.Hour),
		brought("alpha-a3-[0-1]", 3*time.Hour), counting(2), saying("alpha-a3-[0-1]", ""))
	assert.Empty(t, actions(Compute(with(t, "provision_timeout: 7200"), s)))
}

// created makes the last group that old.
func created(ago time.Duration) func(*setting) {
	return func(s *setting) { s.Groups[len(s.Groups)-1].Created = noon.Add(-ago) }
}
