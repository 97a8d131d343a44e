package main

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/must"
)

// right measures M2: the jobs of one script in one of the two modes. What the mode pending asks for is compared
// with the nodes that the jobs had in the mode configuring, if its file is given by -against.
func (m *measure) right() {
	draw := rand.New(rand.NewPCG(m.seed, 2))
	if m.jobs == 0 {
		m.jobs = 300
	}
	m.c.nodes = 96
	if m.what != "pending" {
		m.c.suspend = 8 // a machine goes soon after its job
	}
	m.c.start(m.ctx)
	if m.d.dbd {
		m.limits()
	}
	if m.what == "pending" {
		m.startDaemon("")
		m.sleep(4 * time.Second)
	}
	kinds := m.submitScript(draw, m.jobs)
	log.Printf("%d jobs submitted; %v", len(kinds), m.states())
	m.awaitAllDone(25 * time.Minute)
	m.sleep(20 * time.Second)
	had := map[string]int{}
	text := must.Get(os.ReadFile(m.c.path("out/runs")))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 6 && f[0] == "start" {
			had[strings.TrimSuffix(f[2], "_-")] = len(must.Get(slurm.Expand(f[3])))
		}
	}
	must.Do(os.WriteFile(m.c.path("out/had.json"), must.Get(json.Marshal(had)), 0o644))
	fmt.Printf("M2 %s %s dbd=%v: %d jobs, %d ran\n", m.c.version, m.what, m.d.dbd, len(kinds), len(had))
	if m.what == "pending" {
		m.compare(kinds, had)
	}
}

// limits makes accounts with limits.
func (m *measure) limits() {
	mgr := func(args string) { must.Get(m.c.run("sacctmgr", append([]string{"-i"}, strings.Fields(args)...)...)) }
	for _, account := range []string{"std", "ml GrpTRES=node=4", "bio GrpJobs=2", "one", "gpu GrpTRES=gres/gpu=8"} {
		mgr("add account " + account)
	}
	mgr("add qos small MaxTRESPerUser=node=3")
	mgr("add qos two MaxJobsPerUser=2")
	for user := range users {
		for _, account := range []string{"std", "ml", "bio", "gpu"} {
			mgr("add user " + user + " account=" + account + " qos=normal,small,two")
		}
		mgr("add user " + user + " account=one MaxJobs=1 qos=normal")
	}
	m.sleep(3 * time.Second)
}

// submitScript submits n jobs of all kinds, and returns the kind of each.
func (m *measure) submitScript(draw *rand.Rand, n int) map[string]string {
	kinds := map[string]string{}
	var last string
	for len(kinds) < n {
		nodes := "-N" + strconv.Itoa(1+draw.IntN(4))
		account, qos, part := "std", "normal", "flex"
		var args []string
		tasks := 0
		kind := []string{
			"-N", "-n", "--gpus", "--gpus-per-node", "-N2-4", "nodes of an account", "jobs of an account", "jobs of a user", "gpus of an account",
			"nodes by qos", "jobs by qos", "licence", "array", "dependency", "tier",
		}[draw.IntN(15)]
		switch kind {
		case "-n":
			args = []string{"-n" + strconv.Itoa(1+draw.IntN(14))}
		case "--gpus":
			args = []string{"--gpus=" + strconv.Itoa(1+draw.IntN(10))}
		case "--gpus-per-node":
			args = []string{nodes, "--gpus-per-node=4"}
		case "-N2-4":
			args = []string{"-N2-4"}
		case "nodes of an account":
			account, args = "ml", []string{nodes}
		case "jobs of an account":
			account, args = "bio", []string{nodes}
		case "jobs of a user":
			account, args = "one", []string{nodes}
		case "gpus of an account":
			account, args = "gpu", []string{"-N" + strconv.Itoa(1+draw.IntN(2)), "--gpus-per-node=4"}
		case "nodes by qos":
			qos, args = "small", []string{"-N" + strconv.Itoa(1+draw.IntN(3))}
		case "jobs by qos":
			qos, args = "two", []string{nodes}
		case "licence":
			args = []string{nodes, "-L", "matlab:" + strconv.Itoa(1+draw.IntN(2))}
		case "array":
			tasks, args = 4, []string{nodes, "--array=0-3" + []string{"", "%2"}[draw.IntN(2)]}
		case "dependency":
			if args = []string{nodes}; last != "" {
				args = append(args, "-d", "afterany:"+last)
			}
		case "tier":
			part, args = "high", []string{nodes}
		default:
			args = []string{nodes}
		}
		args = append(args, "-p", part, "-t", strconv.Itoa(5+draw.IntN(60)))
		if m.d.dbd {
			args = append(args, "-A", account, "-q", qos)
		}
		id := m.c.submit([]string{"games", "man"}[draw.IntN(2)], 5+draw.IntN(10), args...)
		last = id
		if tasks == 0 {
			kinds[id] = kind
		}
		for i := range tasks {
			kinds[id+"_"+strconv.Itoa(i)] = kind
		}
		if draw.IntN(3) == 0 {
			m.sleep(300 * time.Millisecond)
		}
	}
	return kinds
}

// compare compares what was asked for with what the jobs had, here and in the other mode.
func (m *measure) compare(kinds map[string]string, had map[string]int) {
	var other map[string]int
	if m.against != "" {
		must.Do(json.Unmarshal(must.Get(os.ReadFile(m.against)), &other))
	}
	order, otherOrder := submitted(slices.Collect(maps.Keys(kinds))), submitted(slices.Collect(maps.Keys(other)))
	there := map[string]int{}
	for key, n := range other {
		there[otherOrder[key]] = n
	}
	asked, times := map[string]int{}, map[string]int{}
	granted, served := map[string]time.Time{}, map[string]string{}
	opened := map[string]time.Time{}
	total, over := 0.0, 0.0
	var slow []string
	late := map[string]int{}
	for _, e := range m.events() {
		switch e.What {
		case "asked":
			asked[e.Job], served[e.Req] = e.N, e.Job
			times[e.Job]++
		case "rebound":
			asked[e.Job], served[e.Req] = e.N, e.Job
		case "granted":
			granted[e.Req] = e.At
		case "opened":
			opened[e.Req] = e.At
		case "late":
			late[kinds[e.Job]]++
			log.Printf("late: %s (%s): %s", e.Job, kinds[e.Job], e.Note)
			if wait := e.At.Sub(opened[e.Req]); wait > lateAfter+3*time.Second {
				slow = append(slow, fmt.Sprintf("%s after %.0f s", e.Job, wait.Seconds()))
			}
			over += e.At.Sub(granted[e.Req]).Seconds() * float64(asked[e.Job])
		case "dropped":
			if e.Note != "late" {
				over += e.At.Sub(granted[e.Req]).Seconds() * float64(e.N)
			}
		case "deleted":
			f := strings.Fields(e.Note)
			s, _ := strconv.ParseFloat(f[1], 64)
			total += s
		}
	}
	never, differ, again := map[string]int{}, map[string]int{}, 0
	for _, key := range slices.Sorted(maps.Keys(kinds)) {
		n, was := asked[key]
		if !was {
			never[kinds[key]]++
			log.Printf("never asked for: %s (%s), had %d", key, kinds[key], had[key])
			continue
		}
		if times[key] > 1 {
			again++
		}
		if other != nil && n != there[order[key]] {
			differ[kinds[key]]++
			log.Printf("differs: %s (%s): asked for %d, had %d, in the other mode %d", key, kinds[key], n, had[key], there[order[key]])
		} else if n != had[key] {
			log.Printf("asked for %d, had %d: %s (%s)", n, had[key], key, kinds[key])
		}
	}
	n, notes := slips(m.events())
	fmt.Printf("  asked for another number of nodes than in the mode configuring: %v of %d; never asked for: %v; asked for again: %d\n", differ, len(kinds), never, again)
	fmt.Printf("  late: %v, noticed later than %s + a pass: %v; machine seconds asked for in vain: %.0f of %.0f (%.1f %%)\n", late, lateAfter, slow, over, total, 100*over/max(total, 1))
	fmt.Println("  slipped:", n, notes)
	count := map[string]int{}
	for _, e := range m.events() {
		count[e.What]++
	}
	fmt.Println("  events:", count)
}

// submitted gives jobs by the order in which they were submitted: their ids also depend on when array tasks start.
func submitted(keys []string) map[string]string {
	var ids []int
	for _, key := range keys {
		ids = append(ids, arrayID(&job{key: key}))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	order := map[string]string{}
	for _, key := range keys {
		_, task, _ := strings.Cut(key, "_")
		order[key] = fmt.Sprint(slices.Index(ids, arrayID(&job{key: key})), "_", task)
	}
	return order
}
