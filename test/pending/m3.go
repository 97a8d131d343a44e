package main

import (
	"fmt"
	"log"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/must"
)

// steps are the daemon's last steps before it is killed, in turn.
var steps = []string{"cover", "cover raised", "cover made again", "cover replaced", "ask", "door", "name", "push", "open", "name cleared", "door deleted", "power down", "cancel"}

// letsGo measures M3.
func (m *measure) letsGo() {
	m.c.nodes, m.c.extra = 200, ""
	draw := rand.New(rand.NewPCG(m.seed, 3))
	m.c.start(m.ctx)
	switch m.what {
	case "steps":
		m.dieAtEachStep(draw)
	default:
		m.longOutage(draw)
	}
}

// exponential draws a delay.
func exponential(draw *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(-math.Log(1-draw.Float64()) * float64(mean))
}

// submitDrawn submits a job of 1 to 4 nodes, one in five in the high partition, one in five of an array
// of 3, one in ten that Slurm would not requeue.
func (m *measure) submitDrawn(draw *rand.Rand) []string {
	nodes := 1 + draw.IntN(4)
	args := []string{"-N" + strconv.Itoa(nodes), "-t", strconv.Itoa(5 + draw.IntN(600))}
	if draw.IntN(5) == 0 && m.what != "static" {
		args = append(args, "-p", "high")
	}
	if draw.IntN(10) == 0 {
		args = append(args, "--no-requeue")
	}
	array := draw.IntN(5) == 0
	if array {
		args = append(args, "--array=0-2")
	}
	id := m.c.submit([]string{"games", "man"}[draw.IntN(2)], 5+draw.IntN(25), args...)
	if !array {
		return []string{id}
	}
	return []string{id + "_0", id + "_1", id + "_2"}
}

func (m *measure) cancel(key string) {
	m.cancelled[key] = true
	_, _ = m.c.run("scancel", key)
}

// dieAtEachStep keeps a flow of jobs, and has the daemon die after each step in turn.
func (m *measure) dieAtEachStep(draw *rand.Rand) {
	outage := m.outage
	if outage == 0 {
		outage = time.Minute
	}
	m.c.cloud.delay = func(string) time.Duration { return 5*time.Second + exponential(draw, 25*time.Second) }
	m.c.cloud.boot = func() time.Duration { return 4 * time.Second }
	m.d.replace = 90 * time.Second
	var keys []string
	for _, step := range steps {
		m.startDaemon(step)
		for died := false; !died; {
			if open := m.states(); open["PENDING"] < 25 {
				keys = append(keys, m.submitDrawn(draw)...)
			}
			if step == "cancel" && len(keys) > 3 { // of a request: its job goes
				m.cancel(keys[len(keys)-1-draw.IntN(3)])
			}
			if step == "push" { // machines that take long to boot
				m.c.cloud.boot = func() time.Duration { return 50 * time.Second }
			}
			select {
			case <-m.ended:
				died = true
			case <-m.ctx.Done():
				must.Do(m.ctx.Err())
			case <-time.After(2 * time.Second):
			}
		}
		m.c.cloud.boot = func() time.Duration { return 4 * time.Second }
		log.Printf("died after %q; %v", step, m.states())
		m.sleep(outage)
	}
	m.startDaemon("")
	m.awaitAllDone(20 * time.Minute)
	m.sleep(20 * time.Second)
	m.report(keys)
}

// longOutage has 50 demands wait, kills the daemon, and sees which requests still serve their jobs after
// the outage.
func (m *measure) longOutage(draw *rand.Rand) {
	outage, demands := m.outage, m.jobs
	if outage == 0 {
		outage = 10 * time.Minute
	}
	if demands == 0 {
		demands = 50
	}
	m.startDaemon("")
	m.sleep(5 * time.Second)
	var keys []string
	cl := m.c.cloud
	waiting := func() (asked, granted int) {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		for _, r := range cl.requests {
			if r.granted() {
				granted++
			} else {
				asked++
			}
		}
		return asked, granted
	}
	if m.what == "churn" { // others came, ran and went, and some were cancelled
		cl.delay = func(string) time.Duration { return exponential(draw, 60*time.Second) }
		for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); m.sleep(2 * time.Second) {
			if asked, _ := waiting(); asked < demands {
				keys = append(keys, m.submitDrawn(draw)...)
			}
			if draw.IntN(15) == 0 {
				m.cancel(keys[draw.IntN(len(keys))])
			}
		}
	}
	cl.mu.Lock()
	cl.delay = func(string) time.Duration { return 24 * time.Hour }
	for _, r := range cl.requests { // none is granted while the daemon is dead
		if !r.granted() {
			r.Due = time.Now().Add(24 * time.Hour)
		}
	}
	cl.mu.Unlock()
	for {
		if asked, _ := waiting(); asked >= demands {
			break
		}
		keys = append(keys, m.submitDrawn(draw)...)
		m.sleep(2500 * time.Millisecond)
	}
	m.await("machines of former jobs to go", 5*time.Minute, func() (bool, string) {
		_, granted := waiting()
		return granted == 0, fmt.Sprint(granted)
	})
	m.sleep(5 * time.Second)
	before := map[string]request{}
	cl.mu.Lock()
	for name, r := range cl.requests {
		before[name] = *r
	}
	cl.mu.Unlock()
	log.Printf("%d requests wait; the daemon is killed; %v", len(before), m.states())
	m.killDaemon()
	m.sleep(outage)
	same, other, nodes, sameNodes := 0, 0, 0, 0
	cl.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, r := before[name], cl.requests[name]
		nodes += len(was.Nodes)
		switch {
		case r == nil:
		case r.Job == was.Job:
			same++
			sameNodes += len(was.Nodes)
		default:
			other++
		}
	}
	cl.mu.Unlock()
	fmt.Printf("M3 %s %s weights=%v named=%v: of %d requests %d serve the same job after %s (%.0f %%), %d another, %d are lost; nodes: %d of %d\n",
		m.c.version, m.what, m.d.weights, m.d.named, len(before), same, outage, 100*float64(same)/float64(len(before)), other, len(before)-same-other, sameNodes, nodes)
	fmt.Println("  states before the daemon's return:", m.states())
	m.startDaemon("")
	m.sleep(20 * time.Second)
	cl.mu.Lock()
	cl.delay = func(string) time.Duration { return exponential(draw, 20*time.Second) }
	for _, r := range cl.requests {
		if !r.granted() {
			r.Due = time.Now().Add(exponential(draw, 40*time.Second))
		}
	}
	cl.mu.Unlock()
	m.awaitAllDone(15 * time.Minute)
	m.sleep(15 * time.Second)
	m.report(keys)
}

// report says which jobs were lost or run twice, and which slipped.
func (m *measure) report(keys []string) {
	started, ended := m.runs()
	jobs, _ := m.c.jobs()
	state := map[string]string{}
	for _, j := range jobs {
		state[j.key] = j.state
	}
	lost, twice, cancelled := 0, 0, 0
	for _, key := range keys {
		switch {
		case m.cancelled[key] && ended[key] == 0:
			cancelled++
		case ended[key] == 0:
			lost++
			log.Printf("lost: %s, %s, started %d times", key, state[key], started[key])
		case started[key] > 1:
			twice++
			log.Printf("run twice: %s", key)
		}
	}
	events := m.events()
	n, notes := slips(events)
	fmt.Printf("M3 %s %s: %d jobs, %d lost, %d run twice, %d cancelled by the script; slipped while the daemon lived: %d (%.1f %%)\n",
		m.c.version, m.what, len(keys), lost, twice, cancelled, n, 100*float64(n)/float64(len(keys)))
	for _, note := range notes {
		fmt.Println("  slipped:", note)
	}
	count := map[string]int{}
	for _, e := range events {
		count[e.What]++
	}
	fmt.Println("  events:", count)
	left, _ := m.c.reservations()
	for _, r := range left {
		fmt.Println("  left:", r.Name, slurm.Fold(r.Nodes))
	}
}
