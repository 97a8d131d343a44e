package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// drawAsked draws counts by earlier passes for some jobs, and wait limits set by their owners.
func (w *world) drawAsked(t *rapid.T) {
	w.Asked = map[string]scene.Asked{}
	for _, j := range inOrder(w.jobs) {
		for _, set := range w.flexSets() {
			if rapid.Bool().Draw(t, "asked before") {
				w.Asked[memo.JobGroup(cluster, set.Name, j.ID, 0)] = scene.Asked{
					Job: j.ID, For: pick(t, "for", 10*time.Minute, 2*time.Hour), At: drawAge(t), Runs: rapid.Bool().Draw(t, "runs"),
				}
			}
		}
	}
	for _, j := range inOrder(w.jobs) {
		if rarely(t, "its owner limits the wait") {
			w.Limits[j.ID] = scene.JobLimits{Wait: pick(t, "wait", 5*time.Minute, time.Hour)}
		}
	}
}

// endsOnlyWhatWasAsked: provision_timeout and fallback_after return a job's nodes only if a request
// of the job is live or refused now, and has been for as long as the limit. A reason contains "no
// capacity" only if a request is live or was refused for capacity or quota.
func endsOnlyWhatWasAsked(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		back, ok := a.(action.ReturnNodes)
		if !ok {
			continue
		}
		for _, j := range s.snap.Jobs {
			if j.ID != back.Job {
				continue
			}
			limited := func(by demand.Limiter, limit func(*config.Flex) time.Duration) bool {
				return strings.Contains(back.Reason, "("+string(by)+" ") && !slices.ContainsFunc(j.Nodes, func(name string) bool {
					set, _, known := s.cfg.Find(name)
					return known && set.Flex != nil && limit(set.Flex) > 0 && s.askedFor(j, name) >= limit(set.Flex)
				})
			}
			if limited(demand.ByTimeout, func(f *config.Flex) time.Duration { return f.ProvisionTimeout }) {
				wrong = append(wrong, fmt.Sprintf("no request was live or refused for that long: %s: %s", back, back.Reason))
			}
			if strings.HasPrefix(back.Reason, "no capacity") && !s.lacksCapacity(j) {
				wrong = append(wrong, fmt.Sprintf("no request lacked capacity: %s: %s", back, back.Reason))
			}
		}
	}
	return wrong
}

// askedFor returns how long, at most, a request for the job's node has been live or refused; zero
// if none is now.
func (s *sight) askedFor(j slurm.Job, node string) (most time.Duration) {
	now := s.snap.Now
	since := now.Add(time.Second)
	begins := func(at time.Time) {
		if at.Before(since) {
			since = at
		}
	}
	for _, r := range s.requestsFor(node) {
		if r.State.Live() || r.State == mig.Failed && now.Sub(r.Created) < 30*time.Minute {
			begins(r.Created)
		}
	}
	for _, r := range s.refusedTo(j, node) {
		for _, at := range []time.Time{r.At, r.Failing.Last} {
			if now.Sub(at) < 30*time.Minute {
				begins(at)
			}
		}
	}
	for _, g := range s.groups { // a group that creates a machine that no list shows yet
		if g.Stamp.Job == j.ID && g.Creating > 0 {
			begins(now)
		}
	}
	for _, in := range s.instances[node] { // an instance with the node's name that is not ours
		begins(in.Created)
	}
	if since.After(now) {
		return 0
	}
	most = now.Sub(since)
	for key, asked := range s.snap.Asked {
		if isFor(key, j, node) && !asked.At.Before(j.Start) {
			most = max(most, asked.For+now.Sub(asked.At))
		}
	}
	return most
}

// isFor reports whether the key in the process's memory is the job's or the node's.
func isFor(key string, j slurm.Job, node string) bool {
	set, index, _ := strings.Cut(strings.TrimPrefix(node, cluster+"-"), "-")
	return strings.HasSuffix(key, fmt.Sprintf("-job-%d", j.ID)) || key == cluster+"-"+set+"-node-"+index || strings.HasSuffix(key, "/"+node)
}

func (s *sight) refusedTo(j slurm.Job, node string) (all []scene.Refusal) {
	for key, r := range s.snap.Refused {
		if isFor(key, j, node) {
			all = append(all, r)
		}
	}
	return all
}

// lacksCapacity reports whether a request for one of the job's nodes waits at Google, or was
// refused for lack of capacity or quota.
func (s *sight) lacksCapacity(j slurm.Job) bool {
	lacks := func(cause mig.Cause) bool { return cause == mig.CauseCapacity || cause == mig.CauseQuota }
	return slices.ContainsFunc(j.Nodes, func(node string) bool {
		return slices.ContainsFunc(s.refusedTo(j, node), func(r scene.Refusal) bool { return lacks(r.Cause) }) ||
			slices.ContainsFunc(s.requestsFor(node), func(r mig.Request) bool { return r.State.Live() || lacks(r.Cause) })
	})
}

// requestsFor returns all requests of ours that name the node.
func (s *sight) requestsFor(node string) (all []mig.Request) {
	for _, g := range s.groups {
		for _, r := range g.Requests {
			if r.Names(node) {
				all = append(all, r)
			}
		}
	}
	return all
}
