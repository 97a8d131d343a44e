package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/must"
)

// job is what scontrol show job says of a job, or of a task of an array.
type job struct {
	key, array                 string
	id                         uint32
	state, reason, reservation string
	user, account, qos         string
	partition                  string
	tier                       int
	priority                   uint64
	min, max                   int // nodes
	gpus                       int
	licenses                   map[string]int
	throttle                   int // of its array; 0 is none
	nodes                      []string
	start                      time.Time
	limit                      time.Duration
	restarts                   int
	dependency                 string
}

func (j *job) pending() bool { return j.state == "PENDING" }

// uses reports whether the job has nodes, or counts towards limits for another reason.
func (j *job) uses() bool {
	return slices.Contains([]string{"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED"}, j.state)
}

var field = regexp.MustCompile(`(?:^| )([A-Za-z/:]+)=(\S*)`)

var tiers = map[string]int{"flex": 1, "high": 10}

var (
	gpuTRES  = regexp.MustCompile(`gres/gpu=(\d+)`)
	nodeTRES = regexp.MustCompile(`(?:^|,)node=(\d+)`)
)

// parseJobs reads scontrol show jobs -o; a record of several pending tasks becomes a job for each.
func parseJobs(text string) []*job {
	var jobs []*job
	for line := range strings.Lines(text) {
		f := map[string]string{}
		for _, m := range field.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
			if _, had := f[m[1]]; !had {
				f[m[1]] = m[2]
			}
		}
		if f["JobId"] == "" {
			continue
		}
		number := func(key string) int { n, _ := strconv.Atoi(f[key]); return n }
		user, _, _ := strings.Cut(f["UserId"], "(")
		tres := cmp.Or(f["ReqTRES"], f["TRES"])
		j := job{
			key: f["JobId"], id: uint32(number("JobId")), array: f["ArrayJobId"], state: f["JobState"], reason: f["Reason"], reservation: f["Reservation"],
			user: user, account: f["Account"], qos: f["QOS"], partition: f["Partition"], priority: uint64(number("Priority")),
			limit: slurm.ParseLimit(f["TimeLimit"]).Duration, restarts: number("Restarts"), licenses: map[string]int{},
		}
		j.tier = tiers[j.partition]
		j.min, j.max = span(f["NumNodes"])
		if m := nodeTRES.FindStringSubmatch(tres); m != nil && j.min < j.max {
			n, _ := strconv.Atoi(m[1])
			if n < j.min && j.max == number("NumTasks") {
				j.max = j.min // 26.05 shows -n13 as 4-13, and takes 4
			} else {
				j.min = n
			}
		}
		if m := gpuTRES.FindStringSubmatch(tres); m != nil {
			j.gpus, _ = strconv.Atoi(m[1])
		}
		for item := range strings.SplitSeq(f["Licenses"], ",") {
			if name, n, ok := strings.Cut(item, ":"); ok {
				j.licenses[name], _ = strconv.Atoi(n)
			}
		}
		if d := f["Dependency"]; d != "(null)" {
			j.dependency = d
		}
		if nodes := f["NodeList"]; nodes != "" && nodes != "(null)" && !j.pending() {
			j.nodes = must.Get(slurm.Expand(nodes))
		}
		j.start, _ = time.Parse("2006-01-02T15:04:05", f["StartTime"])
		tasks := f["ArrayTaskId"]
		if tasks == "" {
			jobs = append(jobs, &j)
			continue
		}
		tasks, throttle, _ := strings.Cut(tasks, "%")
		j.throttle, _ = strconv.Atoi(cmp.Or(throttle, f["ArrayTaskThrottle"]))
		for part := range strings.SplitSeq(tasks, ",") {
			part, step, _ := strings.Cut(part, ":")
			by := 1
			if n, err := strconv.Atoi(step); err == nil {
				by = n
			}
			first, last := span(part)
			for i := first; i <= last; i += by {
				t := j
				t.key = j.array + "_" + strconv.Itoa(i)
				jobs = append(jobs, &t)
			}
		}
	}
	return jobs
}

// span reads "2" and "2-4".
func span(text string) (low, high int) {
	a, b, ranged := strings.Cut(text, "-")
	low, _ = strconv.Atoi(a)
	if high = low; ranged {
		high, _ = strconv.Atoi(b)
	}
	return low, high
}

func (c *cluster) jobs() ([]*job, error) {
	out, err := c.run("scontrol", "-a", "-o", "show", "jobs")
	if err != nil {
		return nil, err
	}
	return parseJobs(out), nil
}

func (c *cluster) jobsByID() map[uint32]*job {
	byID := map[uint32]*job{}
	jobs, _ := c.jobs()
	for _, j := range jobs {
		byID[j.id] = j
	}
	return byID
}

var weightField = regexp.MustCompile(`NodeName=(\S+) .* Weight=(\d+)`)

func (c *cluster) nodeList() ([]slurm.Node, map[string]int, error) {
	out, err := c.run("scontrol", "-a", "-o", "show", "nodes")
	if err != nil {
		return nil, nil, err
	}
	weights := map[string]int{}
	for _, m := range weightField.FindAllStringSubmatch(out, -1) {
		weights[m[1]], _ = strconv.Atoi(m[2])
	}
	nodes, err := slurm.ParseNodes([]byte(out))
	return nodes, weights, err
}

func (c *cluster) reservations() ([]slurm.Reservation, error) {
	out, err := c.run("scontrol", "-a", "-o", "show", "reservation")
	if err != nil {
		return nil, err
	}
	return slurm.ParseReservations([]byte(out))
}

// isOn reports whether a machine has registered, and is not on its way out.
func isOn(n slurm.Node) bool {
	off := slurm.PoweredDown | slurm.PoweringDown | slurm.PoweringUp | slurm.PowerDown | slurm.PowerUp | slurm.NotResponding
	return n.State.Flags&off == 0 && n.State.Base != slurm.Down && n.State.Base != slurm.BaseUnknown
}

// byName orders node names by their number.
func byName(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
