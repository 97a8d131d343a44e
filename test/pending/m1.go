package main

import (
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/test/must"
)

// bound is the longest that a job that fits should wait beside an idle warm node: bf_interval + 5 s.
const bound = 35 * time.Second

// harm measures M1.
func (m *measure) harm() {
	draw := rand.New(rand.NewPCG(m.seed, 1))
	if m.jobs == 0 {
		m.jobs = 500
	}
	if m.what == "cycle" {
		m.cycles(draw)
		return
	}
	const static = 16
	m.c.nodes, m.d.static, m.d.keep = 64, static, true
	m.c.extra = fmt.Sprintf("SuspendExcNodes=f[0-%d]", static-1)
	if m.d.replace == time.Hour {
		m.d.replace = 2 * time.Minute
	}
	m.c.start(m.ctx)
	m.bootStatic(static)
	m.c.cloud.delay = func(string) time.Duration { return exponential(draw, 2*time.Minute) }
	m.c.cloud.boot = func() time.Duration { return 3 * time.Second }
	if m.what == "bare" {
		must.Get(m.c.run("scontrol", "update", fmt.Sprintf("nodename=f[%d-63]", static), "state=down", "reason=bare"))
	} else {
		m.startDaemon("")
	}
	m.sleep(4 * time.Second)
	began := time.Now()
	keys := m.submitMix(draw, m.jobs)
	log.Printf("%d jobs submitted in %.0f s", len(keys), time.Since(began).Seconds())
	w := newWatch()
	for deadline := time.Now().Add(25 * time.Minute); time.Now().Before(deadline); m.sleep(time.Second) {
		if left := w.look(m); left == 0 || m.what == "bare" && w.onlyLarge(m) {
			break
		}
		if len(w.seen)%60 == 0 {
			log.Printf("%v, %d warm nodes idle", m.states(), w.idle)
		}
	}
	w.close()
	started, ended := m.runs()
	twice := 0
	for key, n := range started {
		if n > 1 {
			twice++
			log.Printf("run twice: %s", key)
		}
	}
	fmt.Printf("M1 %s %s named=%v: %d jobs, %d ended, %d run twice, in %.0f s\n", m.c.version, m.what, m.d.named, len(keys), len(ended), twice, time.Since(began).Seconds())
	w.print()
	n, notes := slips(m.events())
	fmt.Println("  slipped:", n, notes)
	count := map[string]int{}
	for _, e := range m.events() {
		count[e.What]++
	}
	fmt.Println("  events:", count)
}

// bootStatic boots the nodes that are always up.
func (m *measure) bootStatic(n int) {
	m.c.cloud.mu.Lock()
	for i := range n {
		m.c.cloud.make("f" + strconv.Itoa(i))
	}
	m.c.cloud.mu.Unlock()
	m.await("static nodes", time.Minute, func() (bool, string) {
		nodes, _, err := m.c.nodeList()
		up := 0
		for _, n := range nodes {
			if isOn(n) {
				up++
			}
		}
		return up == n, fmt.Sprint(up, err)
	})
}

// submitMix submits gangs, some larger than what is warm, arrays, some throttled, one-node jobs, some of many
// hours, and jobs that need one of few licences.
func (m *measure) submitMix(draw *rand.Rand, n int) (keys []string) {
	for len(keys) < n {
		args := []string{"-t", strconv.Itoa(5 + draw.IntN(115))}
		tasks := 0
		switch kind := draw.IntN(20); {
		case kind < 8:
			args = append(args, "-N1")
		case kind < 10:
			args = append(args, "-N1", "-t", strconv.Itoa(600+draw.IntN(600)))
		case kind < 12:
			tasks = 5
			args = append(args, "-N1", "--array=0-4"+[]string{"", "%2"}[draw.IntN(2)])
		case kind < 17:
			args = append(args, "-N"+strconv.Itoa(2+draw.IntN(7)))
		case kind < 19:
			args = append(args, "-N1", "-L", "matlab:1")
		default:
			args = append(args, "-N20")
		}
		id := m.c.submit([]string{"games", "man"}[draw.IntN(2)], 5+draw.IntN(15), args...)
		if tasks == 0 {
			keys = append(keys, id)
		}
		for i := range tasks {
			keys = append(keys, fmt.Sprintf("%s_%d", id, i))
		}
	}
	return keys
}

// watch follows idle warm nodes beside which a job waits that fits them, and these jobs.
type watch struct {
	seen     []time.Time
	idle     int
	nodes    map[string]time.Time
	jobs     map[string]time.Time
	episodes []time.Duration // of nodes
	longest  map[string]time.Duration
	nodeTime time.Duration
	last     time.Time
	left     []*job
}

func newWatch() *watch {
	return &watch{nodes: map[string]time.Time{}, jobs: map[string]time.Time{}, longest: map[string]time.Duration{}}
}

// look takes a sample, and returns how many jobs are left.
func (w *watch) look(m *measure) int {
	now := time.Now()
	nodes, _, err := m.c.nodeList()
	must.Do(err)
	reservations := must.Get(m.c.reservations())
	jobs := must.Get(m.c.jobs())
	closed, busy := map[string]bool{}, map[string]bool{}
	for _, r := range reservations {
		for _, n := range r.Nodes {
			closed[n] = true
		}
	}
	licenses, throttled := 4, map[string]int{}
	w.left = nil
	for _, j := range jobs {
		if j.uses() {
			for _, n := range j.nodes {
				busy[n] = true
			}
			if j.state != "COMPLETING" {
				licenses -= j.licenses["matlab"]
				throttled[j.array]++
			}
		}
		if j.uses() || j.pending() {
			w.left = append(w.left, j)
		}
	}
	var open []string
	for _, n := range nodes {
		if isOn(n) && n.State.IsIdle() && !closed[n.Name] && !busy[n.Name] {
			open = append(open, n.Name)
		}
	}
	w.idle = len(open)
	fit, granted := map[string]bool{}, map[string]bool{} // a job whose machines are there is about to start on them
	m.c.cloud.mu.Lock()
	for _, r := range m.c.cloud.requests {
		granted[r.Job] = granted[r.Job] || r.granted()
	}
	m.c.cloud.mu.Unlock()
	for _, j := range w.left {
		if j.pending() && j.priority > 0 && (lacking(j.reason) || strings.HasPrefix(j.reason, "Licenses") || j.reason == "JobArrayTaskLimit") && !granted[j.key] && j.dependency == "" && j.min <= len(open) &&
			j.licenses["matlab"] <= licenses && (j.throttle == 0 || throttled[j.array] < j.throttle) {
			fit[j.key] = true
		}
	}
	step := now.Sub(w.last)
	if w.last.IsZero() {
		step = 0
	}
	w.last = now
	if len(fit) == 0 {
		open = nil
	}
	for _, n := range open {
		if w.nodes[n].IsZero() {
			w.nodes[n] = now
		} else {
			w.nodeTime += step
		}
	}
	for n, since := range w.nodes {
		if !slices.Contains(open, n) {
			w.episodes = append(w.episodes, now.Sub(since))
			delete(w.nodes, n)
		}
	}
	for key := range fit {
		if w.jobs[key].IsZero() {
			w.jobs[key] = now
		}
		w.longest[key] = max(w.longest[key], now.Sub(w.jobs[key]))
	}
	for key := range w.jobs {
		if !fit[key] {
			delete(w.jobs, key)
		}
	}
	w.seen = append(w.seen, now)
	return len(w.left)
}

// onlyLarge reports whether only jobs are left that are larger than what is warm.
func (w *watch) onlyLarge(*measure) bool {
	return !slices.ContainsFunc(w.left, func(j *job) bool { return j.min <= 16 })
}

func (w *watch) close() {
	for _, since := range w.nodes {
		w.episodes = append(w.episodes, w.last.Sub(since))
	}
}

func (w *watch) print() {
	slices.Sort(w.episodes)
	over := 0
	for _, e := range w.episodes {
		if e > bound {
			over++
		}
	}
	late := 0
	for key, l := range w.longest {
		if l > bound {
			late++
			fmt.Printf("  job %s waited %.0f s beside warm nodes\n", key, l.Seconds())
		}
	}
	n := len(w.episodes)
	if n == 0 {
		n, w.episodes = 1, []time.Duration{0}
	}
	fmt.Printf("  idle warm nodes beside a job that fits: %d times; half %.1f s, 95 %% %.1f s, longest %.1f s; over %.0f s: %d; %.0f node seconds\n",
		n, w.episodes[n/2].Seconds(), w.episodes[n*95/100].Seconds(), w.episodes[n-1].Seconds(), bound.Seconds(), over, w.nodeTime.Seconds())
	fmt.Printf("  jobs that fitted and waited: %d, longer than %.0f s: %d; samples: %d\n", len(w.longest), bound.Seconds(), late, len(w.seen))
}

var cycleLine = regexp.MustCompile(`(?s)Main schedule statistics.*?Last cycle:\s+(\d+).*?Max cycle:\s+(\d+).*?Total cycles:\s+(\d+).*?Mean cycle:\s+(\d+).*?Last queue length:\s+(\d+)(.*)`)

var backfillLine = regexp.MustCompile(`(?s)Total cycles:\s+(\d+).*?Mean cycle:\s+(\d+)`)

// cycles compares slurmctld's scheduling cycles of one queue, in turn with a cover over the cold nodes, with
// these down, and with all of them in use.
func (m *measure) cycles(draw *rand.Rand) {
	const static = 16
	m.c.nodes = 2000
	m.c.extra = fmt.Sprintf("SuspendExcNodes=f[0-%d]\nSchedulerParameters=sched_interval=2", static-1)
	m.c.start(m.ctx)
	m.bootStatic(static)
	cold := fmt.Sprintf("f[%d-1999]", static)
	covered := false
	cover := func() {
		if covered {
			return
		}
		covered = true
		must.Get(m.c.run("scontrol", "create", "reservation", "reservationname=sfcover-1", "nodes="+cold, "starttime=now", "duration=infinite",
			"users=root", "flags=ignore_jobs,overlap,no_hold_jobs_after,purge_comp=60"))
	}
	uncover := func() {
		must.Get(m.c.run("scontrol", "delete", "reservationname=sfcover-1"))
		covered = false
	}
	cover()
	for range static {
		m.c.submit("games", 3600, "-N1", "-t", "600")
	}
	m.sleep(5 * time.Second)
	m.submitMix(draw, m.jobs)
	log.Printf("%v", m.states())
	sums, all := map[string][4]float64{}, map[string][]float64{}
	number := func(text string) float64 { n, _ := strconv.ParseFloat(text, 64); return n }
	for range 3 {
		for _, state := range []string{"cover", "down", "busy"} {
			var big string
			switch state {
			case "cover":
				cover()
			case "down":
				must.Get(m.c.run("scontrol", "update", "nodename="+cold, "state=down", "reason=bare"))
				uncover()
			case "busy": // from the cover straight to one job that has all cold nodes, and whose machines never come
				cover()
				must.Get(m.c.run("scontrol", "update", "nodename="+cold, "state=resume"))
				m.c.cloud.delay = func(string) time.Duration { return 24 * time.Hour }
				m.sleep(7 * time.Second)
				must.Get(m.c.run("scontrol", "create", "reservation", "reservationname=all", "nodes="+cold, "starttime=now", "duration=infinite", "users=root", "flags=ignore_jobs,overlap,no_hold_jobs_after"))
				cmd := m.c.command("sbatch", "--parsable", "-o", "/dev/null", "-N1984", "-t", "600", "--reservation=all", "--wrap", "sleep 1")
				big = strings.TrimSpace(must.Get(output(cmd)))
				m.await("the large job", 2*time.Minute, func() (bool, string) { return m.states()["CONFIGURING"] == 1, fmt.Sprint(m.states()) })
				must.Get(m.c.run("scontrol", "update", "jobid="+big, "reservationname="))
				must.Get(m.c.run("scontrol", "delete", "reservationname=all"))
				uncover()
			}
			m.sleep(5 * time.Second)
			must.Get(m.c.run("sdiag", "-r"))
			var f []string
			total := ""
			for range 90 { // a cycle every 2 s: none is missed
				m.sleep(500 * time.Millisecond)
				now := cycleLine.FindStringSubmatch(must.Get(m.c.run("sdiag")))
				if now == nil {
					continue // there was no cycle yet
				}
				if f = now; f[3] != total {
					total = f[3]
					all[state] = append(all[state], number(f[1])/1000)
				}
			}
			if f == nil {
				must.Do(errors.New("sdiag shows no scheduling cycle"))
			}
			bf, bfn := 0.0, 0.0
			if b := backfillLine.FindStringSubmatch(f[6]); b != nil {
				bf, bfn = number(b[2]), number(b[1])
			}
			fmt.Printf("M1 %s cycle %s: main cycle mean %.2f ms, max %.2f ms, %s cycles, queue %s; backfill mean %.1f ms, %.0f cycles\n",
				m.c.version, state, number(f[4])/1000, number(f[2])/1000, f[3], f[5], bf/1000, bfn)
			s := sums[state]
			s[0] += number(f[4]) * number(f[3])
			s[1] += number(f[3])
			s[2] += bf * bfn
			s[3] += bfn
			sums[state] = s
			if state == "busy" {
				cover()
				must.Get(m.c.run("scancel", big))
				must.Get(m.c.run("scontrol", "update", "nodename="+cold, "state=power_down_force"))
				m.sleep(7 * time.Second)
			}
		}
	}
	for _, state := range []string{"cover", "down", "busy"} {
		s := sums[state]
		slices.Sort(all[state])
		fmt.Printf("M1 %s cycle %s, in all: main cycle median %.2f ms, mean %.2f ms of %.0f, backfill %.1f ms of %.0f\n",
			m.c.version, state, all[state][len(all[state])/2], s[0]/s[1]/1000, s[1], s[2]/max(s[3], 1)/1000, s[3])
	}
}
