package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// limit is the most of something that jobs may take at once, such as the nodes of an account.
type limit struct {
	what string // "jobs", "node", "gres/gpu", "cpu"
	most int
}

// limits are those of Slurm, by who is limited: an association "account/user", an account "account/", a QOS
// "qos:name", a QOS's user "qos:name/uid".
type limits struct {
	of       map[string][]limit
	parent   map[string]string
	licenses map[string]int
}

var amount = regexp.MustCompile(`([a-z/]+)=(\d+)\(\d+\)`)

// readLimits reads scontrol show assoc_mgr and scontrol show licenses.
func readLimits(assocs, licenses string) *limits {
	l := &limits{of: map[string][]limit{}, parent: map[string]string{}, licenses: map[string]int{}}
	var who string
	add := func(who string, limits ...limit) { l.of[who] = append(l.of[who], limits...) }
	number := func(text string) (int, bool) {
		text, _, _ = strings.Cut(text, "(")
		n, err := strconv.Atoi(text)
		return n, err == nil
	}
	qos := ""
	for line := range strings.Lines(assocs) {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "ClusterName="):
			f := field.FindAllStringSubmatch(bare, -1)
			account, user := f[1][2], f[2][2]
			user, _, _ = strings.Cut(user, "(")
			who, qos = account+"/"+user, ""
			continue
		case strings.HasPrefix(line, "QOS="):
			qos, _, _ = strings.Cut(strings.TrimPrefix(bare, "QOS="), "(")
			who = "qos:" + qos
			continue
		}
		if qos != "" && regexp.MustCompile(`^\d+$`).MatchString(bare) {
			who = "qos:" + qos + "/" + bare
			continue
		}
		for word := range strings.SplitSeq(bare, " ") {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "ParentAccount":
				if name, _, named := strings.Cut(value, "("); named {
					l.parent[strings.TrimSuffix(who, "/")] = name
				}
			case "GrpJobs", "MaxJobs", "MaxJobsPU":
				if n, ok := number(value); ok {
					add(who, limit{"jobs", n})
				}
			case "GrpTRES", "MaxTRESPU":
				for _, m := range amount.FindAllStringSubmatch(value, -1) {
					n, _ := strconv.Atoi(m[2])
					add(who, limit{m[1], n})
				}
			}
		}
	}
	for line := range strings.Lines(licenses) {
		f := map[string]string{}
		for _, m := range field.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
			f[m[1]] = m[2]
		}
		l.licenses[f["LicenseName"]], _ = strconv.Atoi(f["Total"])
	}
	return l
}

// who are all that a job's use counts for.
func (l *limits) who(j *job) (all []string) {
	all = []string{"qos:" + j.qos, "qos:" + j.qos + "/" + strconv.Itoa(int(users[j.user])), j.account + "/" + j.user}
	for account := j.account; account != "" && len(all) < 20; account = l.parent[account] {
		all = append(all, account+"/")
	}
	return all
}

// usage counts what jobs that run, or that machines are asked for, take of the limits.
type usage struct {
	*limits
	used     map[string]map[string]int
	licenses map[string]int
	tasks    map[string]int // at work, by array
}

func newUsage(d *daemon, s *scene) *usage {
	assocs := ""
	if d.dbd {
		assocs, _ = d.c.run("scontrol", "show", "assoc_mgr", "flags=assoc,qos")
	}
	licenses, _ := d.c.run("scontrol", "-o", "show", "licenses")
	u := &usage{limits: readLimits(assocs, licenses), used: map[string]map[string]int{}, licenses: map[string]int{}, tasks: map[string]int{}}
	for _, j := range s.jobs {
		if slices.Contains([]string{"RUNNING", "CONFIGURING", "SUSPENDED"}, j.state) {
			u.add(j, len(j.nodes))
		} else if r := s.asked[j.key]; r != nil && j.pending() {
			u.add(j, len(r.Nodes))
		}
	}
	return u
}

// takes is what a job on n nodes takes: all that these have, because they are exclusive.
func takes(n int) map[string]int {
	return map[string]int{"jobs": 1, "node": n, "cpu": 4 * n, "gres/gpu": 4 * n}
}

// allows returns how many of n nodes the limits allow the job now: all, its least number, or none.
func (u *usage) allows(j *job, n int) int {
	for name, count := range j.licenses {
		if u.licenses[name]+count > u.limits.licenses[name] {
			return 0
		}
	}
	if j.throttle > 0 && u.tasks[j.array] >= j.throttle {
		return 0
	}
	fits := func(n int) bool {
		for _, who := range u.who(j) {
			for _, l := range u.of[who] {
				if u.used[who][l.what]+takes(n)[l.what] > l.most {
					return false
				}
			}
		}
		return true
	}
	switch {
	case fits(n):
		return n
	case fits(j.min):
		return j.min
	}
	return 0
}

func (u *usage) add(j *job, n int) {
	for _, who := range u.who(j) {
		if u.used[who] == nil {
			u.used[who] = map[string]int{}
		}
		for what, count := range takes(n) {
			u.used[who][what] += count
		}
	}
	for name, count := range j.licenses {
		u.licenses[name] += count
	}
	if j.array != "" {
		u.tasks[j.array]++
	}
}
