package flex

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// rarestRetry is the longest wait between two tries of what Slurm refuses: it
// takes that long at most until a fixed cause is noticed.
const rarestRetry = time.Minute

// retries are the changes that Slurm refused when they were last tried, by what
// they change. A plan has them again in each reconcile pass, every few seconds.
type retries struct {
	mu      sync.Mutex
	refused map[string]refusedChange
}

type refusedChange struct {
	times int // in a row
	last  time.Time
}

// isDue reports whether an action is to be tried now: a second after it was
// refused, then after two, four; rarestRetry is the longest wait.
func (r *retries) isDue(a plan.Action, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, refused := r.refused[changed(a)]
	return !refused || age(now, was.last) >= min(time.Second<<min(was.times-1, 10), rarestRetry)
}

// inSlurm says of each kind of action whether Slurm carries it out. isDue and note delay what
// Slurm refused; the planner delays what Compute refused.
func inSlurm(kind string) (slurm, known bool) {
	slurm, known = map[string]bool{
		"create_group":       false,
		"create_request":     false,
		"cancel_request":     false,
		"delete_request":     false,
		"delete_instances":   false,
		"delete_group":       false,
		"bulk_insert":        false,
		"delete_vms":         false,
		"create_policy":      false,
		"delete_policy":      false,
		"set_nodes":          true,
		"create_reservation": true,
		"set_reservation":    true,
		"delete_reservation": true,
		"use_reservation":    true,
		"comment_job":        true,
		"return_nodes":       true,
		"signal_job":         true,
		"requeue_job":        true,
		"change_partitions":  true,
	}[kind]
	return slurm, known
}

// note remembers how an action on Slurm ended.
func (r *retries) note(a plan.Action, err error, now time.Time) {
	if slurm, _ := inSlurm(a.About().Kind); !slurm {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.refused, func(_ string, was refusedChange) bool { return age(now, was.last) > 10*rarestRetry })
	key := changed(a)
	if err == nil {
		delete(r.refused, key)
		return
	}
	if r.refused == nil {
		r.refused = map[string]refusedChange{}
	}
	r.refused[key] = refusedChange{times: r.refused[key].times + 1, last: now}
}

// changed names what an action changes, and to which state.
func changed(a plan.Action) string {
	about := a.About()
	key := fmt.Sprintf("%s %s %d %s", a.Queue(), about.Kind, about.Job, slurm.Fold(about.Nodes))
	if n, ok := a.(plan.SetNodes); ok {
		key += " " + n.State
	}
	return key
}
