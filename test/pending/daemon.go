package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"slurmflex/slurm"
)

const (
	coverPrefix = "sfcover-"
	doorPrefix  = "sfdoor-"
	doorAhead   = 5 * time.Minute  // how far a door is in the future while machines boot
	lateAfter   = 20 * time.Second // from a door's opening to its job's being late
	settle      = 35 * time.Second // how long a job that fits warm machines is left to Slurm's backfill
)

// daemon is the prototype: what it knows between passes is only what makes it patient.
type daemon struct {
	c       *cluster
	cloud   string        // the cloud's address
	keep    bool          // machines stay for other jobs after their job
	idle    time.Duration // how long, unused
	static  int           // so many nodes, the first, are never powered down
	grace   int           // minutes from the last raise of the cover to its end
	replace time.Duration
	weights bool   // nodes' weights follow the rank of the jobs that they are asked for
	dbd     bool   // there are associations
	limited bool   // limits are read and counted
	named   bool   // jobs are named, by a door in the future, as soon as machines are asked for
	early   bool   // jobs that keep a warm machine planned are named early
	die     string // the step after which the daemon kills itself

	raised  time.Time
	booted  string // when slurmctld started
	loosed  map[string]time.Time
	fitting map[string]time.Time
	backoff map[string]time.Time
	idling  map[string]time.Time
	busy    time.Duration // spent in passes
	passes  int
}

func (d *daemon) say(what string, j, req, note string) {
	_, _ = d.post("event", url.Values{"what": {what}, "job": {j}, "req": {req}, "note": {note}})
}

func (d *daemon) post(what string, form url.Values) (string, error) {
	resp, err := http.PostForm("http://"+d.cloud+"/"+what, form)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return string(text), err
}

// did is called after each step that may be the last one.
func (d *daemon) did(step string) {
	if d.die == step {
		d.say("died", "", "", step)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// ctl runs scontrol, and reports what Slurm refuses.
func (d *daemon) ctl(args ...string) error {
	_, err := d.c.run("scontrol", args...)
	if err != nil {
		d.say("refused", "", "", err.Error())
	}
	return err
}

func (d *daemon) loop(interval time.Duration) {
	d.loosed, d.fitting, d.backoff, d.idling = map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	for {
		began := time.Now()
		if err := d.pass(); err != nil {
			log.Printf("pass: %v", err)
		}
		d.busy += time.Since(began)
		if d.passes++; d.passes%30 == 0 {
			d.say("pace", "", "", fmt.Sprintf("%.0f ms a pass", float64(d.busy.Milliseconds())/float64(d.passes)))
		}
		time.Sleep(interval)
	}
}

// scene is what a pass sees.
type scene struct {
	now      time.Time
	jobs     []*job
	byKey    map[string]*job
	nodes    map[string]slurm.Node
	names    []string // of nodes, in order
	weights  map[string]int
	doors    map[string]slurm.Reservation
	covers   []slurm.Reservation
	requests []*request
	asked    map[string]*request // by job
	taken    map[string]*request // by node
	users    map[string]bool     // nodes that a job has
}

func (d *daemon) see() (*scene, error) {
	s := &scene{
		now: time.Now(), byKey: map[string]*job{}, nodes: map[string]slurm.Node{}, doors: map[string]slurm.Reservation{},
		asked: map[string]*request{}, taken: map[string]*request{}, users: map[string]bool{},
	}
	text, err := d.post("requests", nil)
	if err == nil {
		err = json.Unmarshal([]byte(text), &s.requests)
	}
	if err != nil {
		return nil, err
	}
	nodes, weights, err := d.c.nodeList()
	if err != nil {
		return nil, err
	}
	s.weights = weights
	reservations, err := d.c.reservations()
	if err != nil {
		return nil, err
	}
	if s.jobs, err = d.c.jobs(); err != nil { // last: a request's job is as new as can be
		return nil, err
	}
	for _, j := range s.jobs {
		s.byKey[j.key] = j
		if j.uses() {
			for _, n := range j.nodes {
				s.users[n] = true
			}
		}
	}
	for _, n := range nodes {
		s.nodes[n.Name] = n
		s.names = append(s.names, n.Name)
	}
	slices.SortFunc(s.names, byName)
	for _, r := range reservations {
		switch {
		case strings.HasPrefix(r.Name, coverPrefix):
			s.covers = append(s.covers, r)
		case strings.HasPrefix(r.Name, doorPrefix):
			s.doors[strings.TrimPrefix(r.Name, doorPrefix)] = r
		}
	}
	slices.SortFunc(s.covers, func(a, b slurm.Reservation) int { return cmp.Compare(a.Name, b.Name) })
	for _, r := range s.requests {
		s.asked[r.Job] = r
		for _, n := range r.Nodes {
			s.taken[n] = r
		}
	}
	return s, nil
}

// done reports whether the request's job has come to run on its nodes.
func (s *scene) done(r *request) bool {
	j := s.byKey[r.Job]
	return j != nil && j.uses() && within(j.nodes, r.Nodes)
}

func (d *daemon) pass() error {
	s, err := d.see()
	if err != nil {
		return err
	}
	if err := d.cover(s); err != nil {
		return err
	}
	for _, r := range s.requests {
		d.serve(s, r)
	}
	d.doorsWithoutRequest(s)
	d.release(s)
	d.want(s)
	return nil
}

// covered are the nodes that belong in the cover: those that are cold, or to go with their job.
func (d *daemon) covered(s *scene) (names []string) {
	for i, name := range s.names {
		if i < d.static {
			continue
		}
		r := s.taken[name]
		awaited := r != nil && !s.done(r)
		closing := !d.idling[name].IsZero() && s.now.Sub(d.idling[name]) > d.idle
		if !d.keep || !isOn(s.nodes[name]) && !s.users[name] || awaited || closing {
			names = append(names, name)
		}
	}
	return names
}

func (d *daemon) cover(s *scene) error {
	d.watchIdle(s)
	names := d.covered(s)
	out, err := d.c.run("scontrol", "show", "config")
	if err != nil {
		return err
	}
	_, boot, _ := strings.Cut(out, "BOOT_TIME")
	boot, _, _ = strings.Cut(boot, "\n")
	restarted := d.booted != "" && d.booted != boot
	d.booted = boot

	var live *slurm.Reservation
	age := time.Duration(0)
	if n := len(s.covers); n > 0 {
		live = &s.covers[n-1]
		made, _ := strconv.ParseInt(strings.TrimPrefix(live.Name, coverPrefix), 10, 64)
		age = s.now.Sub(time.Unix(made, 0))
	}
	if live == nil || age > d.replace || restarted {
		name := coverPrefix + strconv.FormatInt(s.now.Unix(), 10)
		err := d.ctl("create", "reservation", "reservationname="+name, "nodes="+slurm.Fold(names), "starttime=now", "duration=infinite",
			"users=root", fmt.Sprintf("flags=ignore_jobs,overlap,no_hold_jobs_after,purge_comp=%d", d.grace))
		if err != nil {
			return err
		}
		d.raised = s.now
		d.say("covered", "", name, fmt.Sprint(len(names)))
		if live == nil {
			d.did("cover")
		}
		d.did("cover made again")
		for _, old := range s.covers {
			if old.Name != name {
				_ = d.ctl("delete", "reservationname="+old.Name)
				d.did("cover replaced")
			}
		}
		return nil
	}
	for _, old := range s.covers[:len(s.covers)-1] {
		_ = d.ctl("delete", "reservationname="+old.Name)
	}
	if !sameSet(names, live.Nodes) {
		if err := d.ctl("update", "reservationname="+live.Name, "nodes="+slurm.Fold(names)); err != nil {
			return err
		}
		d.did("cover changed")
	}
	if s.now.Sub(d.raised) > time.Minute {
		d.raised = s.now
		_ = d.ctl("update", "reservationname="+live.Name, fmt.Sprintf("flags+=purge_comp=%d", int(age.Minutes())+1+d.grace))
		d.did("cover raised")
	}
	return nil
}

// watchIdle notes since when machines that may serve other jobs are idle.
func (d *daemon) watchIdle(s *scene) {
	for i, name := range s.names {
		n, r := s.nodes[name], s.taken[name]
		if i >= d.static && isOn(n) && n.State.IsIdle() && !s.users[name] && (r == nil || s.gone(r) || s.done(r)) {
			if d.idling[name].IsZero() {
				d.idling[name] = s.now
			}
			continue
		}
		delete(d.idling, name)
	}
}

// gone reports whether the request's job has ended, or lost its nodes.
func (s *scene) gone(r *request) bool {
	j := s.byKey[r.Job]
	return j == nil || !j.pending() && !j.uses() || j.uses() && !within(j.nodes, r.Nodes)
}

// within reports whether all of these are among those.
func within(these, those []string) bool {
	return !slices.ContainsFunc(these, func(n string) bool { return !slices.Contains(those, n) })
}

// serve brings one request a step further: door, name, push, open, tidy.
func (d *daemon) serve(s *scene, r *request) {
	j, door := s.byKey[r.Job], doorPrefix+r.Name
	at, made := s.doors[r.Name]
	tidy := func() {
		if j != nil && j.reservation == door && d.ctl("update", "jobid="+j.key, "reservationname=") == nil {
			d.did("name cleared")
		}
		if made && d.ctl("delete", "reservationname="+door) == nil {
			d.did("door deleted")
		}
	}
	switch {
	case s.done(r):
		tidy()
	case s.gone(r):
		if made {
			tidy()
			return
		}
		if !r.granted() {
			d.cancel(r, "job is elsewhere or gone")
		} else if !slices.ContainsFunc(r.Nodes, func(n string) bool { return s.users[n] }) && !s.ended(r) {
			d.handOver(s, r, "job is elsewhere or gone")
		}
	case !r.granted() && !made && (!d.named || d.loose(s, j)):
	case !made:
		if d.ctl("create", "reservation", "reservationname="+door, "nodes="+slurm.Fold(r.Nodes), "starttime=now+300", "duration=infinite",
			"users="+j.user, "flags=overlap,no_hold_jobs_after,purge_comp=5") != nil {
			return
		}
		d.did("door")
		d.name(j, door)
	case j.reservation != door && d.loose(s, j) && !r.granted():
		d.push(s, at, door)
	case j.reservation != door && s.now.Before(at.Start):
		d.name(j, door)
	case j.reservation != door && s.now.Sub(at.Start) < lateAfter:
		d.name(j, door)
	case !d.ready(s, r) && s.now.After(at.Start): // nobody has pushed; Slurm may have powered it up
	case !d.ready(s, r):
		d.push(s, at, door)
	case s.now.Before(at.Start):
		if d.ctl("update", "reservationname="+door, "starttime=now") == nil {
			d.say("opened", r.Job, r.Name, slurm.Fold(r.Nodes))
			d.did("open")
		}
	case s.now.Sub(at.Start) > lateAfter && (len(r.Nodes) >= j.max || s.now.Sub(at.Start) > settle): // fewer than the most: backfill starts it
		d.say("late", r.Job, r.Name, fmt.Sprintf("%s after %.0f s", j.reason, s.now.Sub(at.Start).Seconds()))
		tidy()
		d.backoff[r.Job] = s.now.Add(30 * time.Second)
		d.handOver(s, r, "late")
	}
}

// push moves a door's start ahead, once a minute.
func (d *daemon) push(s *scene, at slurm.Reservation, door string) {
	if at.Start.Sub(s.now) < doorAhead-time.Minute {
		_ = d.ctl("update", "reservationname="+door, "starttime=now+300")
		d.did("push")
	}
}

// loose reports whether the job is without its name because warm machines fit it.
func (d *daemon) loose(s *scene, j *job) bool { return s.now.Sub(d.loosed[j.key]) < 5*time.Second }

// loosen clears the name of a job that warm machines fit, so that Slurm may start it there. It gets the name back
// when they are gone.
func (d *daemon) loosen(s *scene, j *job) {
	if j.reservation != "" && d.ctl("update", "jobid="+j.key, "reservationname=") == nil {
		d.say("loosened", j.key, "", "")
	}
	d.loosed[j.key] = s.now
}

// ended reports whether the request has served its job, which is over.
func (s *scene) ended(r *request) bool {
	j := s.byKey[r.Job]
	return j == nil || !j.pending() && !j.uses()
}

func (d *daemon) name(j *job, door string) {
	if d.ctl("update", "jobid="+j.key, "reservationname="+door) == nil {
		d.did("name")
	}
}

func (d *daemon) ready(s *scene, r *request) bool {
	return r.granted() && !slices.ContainsFunc(r.Nodes, func(n string) bool { return !isOn(s.nodes[n]) })
}

func (d *daemon) cancel(r *request, why string) {
	if answer, err := d.post("cancel", url.Values{"name": {r.Name}, "why": {why}}); err == nil && answer == "" {
		d.did("cancel")
	}
}

// handOver gives a request's machines to the next want that fits them, or deletes them.
func (d *daemon) handOver(s *scene, r *request, why string) {
	for _, w := range d.wants(s) {
		other := s.asked[w.key]
		if w.key == r.Job || w.max < len(r.Nodes) || w.min > len(r.Nodes) || other != nil && other.granted() {
			continue
		}
		if other != nil {
			d.cancel(other, "served by "+r.Name)
			delete(s.asked, w.key)
		}
		if _, err := d.post("rebind", url.Values{"name": {r.Name}, "job": {w.key}}); err == nil {
			s.asked[w.key] = r
			return
		}
	}
	if _, err := d.post("cancel", url.Values{"name": {r.Name}, "delete": {"yes"}, "why": {why}}); err == nil {
		_ = d.ctl("update", "nodename="+slurm.Fold(r.Nodes), "state=power_down")
	}
}

// doorsWithoutRequest deletes doors whose request is gone.
func (d *daemon) doorsWithoutRequest(s *scene) {
	for name := range s.doors {
		if slices.ContainsFunc(s.requests, func(r *request) bool { return r.Name == name }) {
			continue
		}
		for _, j := range s.jobs {
			if j.reservation == doorPrefix+name && (j.pending() || j.uses()) {
				_ = d.ctl("update", "jobid="+j.key, "reservationname=")
			}
		}
		_ = d.ctl("delete", "reservationname="+doorPrefix+name)
	}
}

// release powers down machines that nobody has, or has had for long.
func (d *daemon) release(s *scene) {
	var names []string
	for name, since := range d.idling {
		if !d.keep || s.now.Sub(since) > d.idle {
			// The cover has the node already since this pass's beginning.
			if !d.keep || slices.Contains(d.covered(s), name) {
				names = append(names, name)
				delete(d.idling, name)
			}
		}
	}
	if len(names) > 0 {
		slices.SortFunc(names, byName)
		if d.ctl("update", "nodename="+slurm.Fold(names), "state=power_down") == nil {
			d.did("power down")
		}
	}
}

// lacking are the reasons of jobs that may lack only nodes.
func lacking(reason string) bool {
	return reason == "None" || reason == "Reservation" || slurm.LacksNodes(reason)
}

// wants are the pending jobs that lack nodes only, by rank, as far as Slurm and the limits say.
func (d *daemon) wants(s *scene) (wants []*job) {
	for _, j := range s.jobs {
		if j.pending() && j.priority > 0 && lacking(j.reason) && (j.reservation == "" || strings.HasPrefix(j.reservation, doorPrefix)) && j.dependency == "" && s.now.After(d.backoff[j.key]) {
			wants = append(wants, j)
		}
	}
	slices.SortStableFunc(wants, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.tier, a.tier), cmp.Compare(b.priority, a.priority), cmp.Compare(arrayID(a), arrayID(b)), cmp.Compare(task(a), task(b)))
	})
	return wants
}

func arrayID(j *job) int { n, _, _ := strings.Cut(j.key, "_"); i, _ := strconv.Atoi(n); return i }

func task(j *job) int { _, n, _ := strings.Cut(j.key, "_"); i, _ := strconv.Atoi(n); return i }

// want asks for the machines of jobs that wait, in turn, with the lowest names first.
func (d *daemon) want(s *scene) {
	var open, warm []string // idle; idle or busy: both outside cover and doors
	for _, name := range s.names {
		n := s.nodes[name]
		covered := slices.ContainsFunc(s.covers, func(c slurm.Reservation) bool { return slices.Contains(c.Nodes, name) })
		if r := s.taken[name]; !isOn(n) || covered || r != nil && !s.done(r) && !s.gone(r) {
			continue
		}
		warm = append(warm, name)
		if n.State.IsIdle() && !s.users[name] {
			open = append(open, name)
		}
	}
	left := len(open)
	var blocking []*job
	counts := newUsage(d, s)
	for _, j := range d.wants(s) {
		fits := j.min <= left
		if since := d.fitting[j.key]; fits && since.IsZero() {
			d.fitting[j.key] = s.now
		} else if !fits {
			delete(d.fitting, j.key)
		}
		r := s.asked[j.key]
		if d.named && fits && r != nil && !r.granted() {
			d.loosen(s, j)
			left -= j.min
			continue
		}
		if fits && j.reservation == "" {
			if s.now.Sub(d.fitting[j.key]) > 3*time.Second && d.early {
				d.nameEarly(s, blocking)
			}
			if r == nil && s.now.Sub(d.fitting[j.key]) < settle {
				left -= j.min // Slurm is about to start it there
				continue
			}
		}
		if r == nil {
			r = d.ask(s, j, counts)
		}
		if r != nil && !r.granted() && j.reservation == "" && j.min <= len(warm) && j.min > len(open) {
			blocking = append(blocking, j)
		}
	}
	if d.weights {
		d.weigh(s)
	}
}

// nameEarly names jobs that Slurm would keep warm machines for.
func (d *daemon) nameEarly(s *scene, blocking []*job) {
	for _, j := range blocking {
		r := s.asked[j.key]
		if _, made := s.doors[r.Name]; made || j.reservation != "" {
			continue
		}
		if d.ctl("create", "reservation", "reservationname="+doorPrefix+r.Name, "nodes="+slurm.Fold(r.Nodes), "starttime=now+300", "duration=infinite",
			"users="+j.user, "flags=overlap,no_hold_jobs_after,purge_comp=5") == nil {
			d.name(j, doorPrefix+r.Name)
			j.reservation = doorPrefix + r.Name
			d.say("named early", j.key, r.Name, "")
		}
	}
}

// ask makes a request for a job under the lowest names that are free.
func (d *daemon) ask(s *scene, j *job, counts *usage) *request {
	var names []string
	for i, name := range s.names {
		n := s.nodes[name]
		if len(names) < j.max && i >= d.static && s.taken[name] == nil && !s.users[name] && n.State.Has(slurm.PoweredDown) && !n.State.Has(slurm.PowerUp) {
			names = append(names, name)
		}
	}
	if len(names) < j.min {
		return nil
	}
	if d.limited {
		n := counts.allows(j, len(names))
		if n < j.min {
			return nil
		}
		names = names[:n]
	}
	if _, err := d.post("ask", url.Values{"job": {j.key}, "nodes": {slurm.Fold(names)}}); err != nil {
		d.say("refused", j.key, "", err.Error())
		return nil
	}
	d.did("ask")
	r := &request{Job: j.key, Nodes: names}
	s.asked[j.key] = r
	for _, n := range names {
		s.taken[n] = r
	}
	counts.add(j, len(names))
	return nil // its name is known from the next pass on
}

// weigh has Slurm's own order of nodes follow the rank of the jobs that they are asked for, so that it
// would give each job just its nodes.
func (d *daemon) weigh(s *scene) {
	var ranked []*request
	for _, j := range d.wants(s) {
		if r := s.asked[j.key]; r != nil {
			ranked = append(ranked, r)
		}
	}
	last := 0
	for i, r := range ranked {
		if w := s.weights[r.Nodes[0]]; w > last && w < spareWeight {
			last = w
			continue
		}
		next := last + 2*weightGap
		if i+1 < len(ranked) {
			if w := s.weights[ranked[i+1].Nodes[0]]; w > last+1 && w < spareWeight {
				next = w
			}
		}
		last = (last + next) / 2
		d.setWeight(s, r.Nodes, last)
	}
	var spare []string
	for _, n := range s.names {
		if r := s.taken[n]; (r == nil || s.done(r) || s.gone(r)) && s.weights[n] != spareWeight {
			spare = append(spare, n)
		}
	}
	if len(spare) > 0 {
		d.setWeight(s, spare, spareWeight)
	}
}

// weightGap leaves room for jobs that come between two others. A spare node weighs more than all.
const (
	weightGap   = 1000
	spareWeight = 1 << 30
)

func (d *daemon) setWeight(s *scene, nodes []string, weight int) {
	if d.ctl("update", "nodename="+slurm.Fold(nodes), "weight="+strconv.Itoa(weight)) == nil {
		for _, n := range nodes {
			s.weights[n] = weight
		}
	}
}
