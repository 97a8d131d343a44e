package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/mig/gce"
)

// suite checks one region. The checks follow one group from its creation to its deletion.
type suite struct {
	client                           *gce.Client
	out                              io.Writer
	project, region, template, group string
	wait                             time.Duration

	zone                    string
	passed, failed, skipped int
}

const (
	cluster = "conformance"
	lease   = mig.MinDuration
	pause   = 200 * time.Millisecond // between two looks
)

// expect prints the outcome of a check, and reports whether it has passed.
func (s *suite) expect(what string, err error) bool {
	if err != nil {
		s.failed++
		fmt.Fprintf(s.out, "FAIL %s: %v\n", what, err)
		return false
	}
	s.passed++
	fmt.Fprintf(s.out, "ok   %s\n", what)
	return true
}

// caused returns an error unless err has the cause.
func caused(err error, want mig.Cause) error {
	switch got := mig.CauseOf(err); {
	case got == want:
		return nil
	case err == nil:
		return fmt.Errorf("no error instead of %q", want)
	default:
		return fmt.Errorf("the cause is %q instead of %q: %w", got, want, err)
	}
}

func (s *suite) stamp() mig.Stamp {
	return mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: "a3", Job: 1}
}

// check runs all checks. It stops where later ones would only repeat the failure.
func (s *suite) check(ctx context.Context) {
	lacking, err := s.client.Lacking(ctx, s.region)
	lacking = slices.DeleteFunc(lacking, func(method string) bool { return method == mig.BulkInsert || method == mig.InsertPolicy })
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("lacks %s", strings.Join(lacking, ", "))
	}
	if !s.expect("the program has the methods", err) || !s.place(ctx) || !s.newGroup(ctx) {
		return
	}
	if s.request(ctx) {
		s.outcome(ctx)
	}
	s.expect("a group can be deleted", s.client.DeleteGroup(ctx, s.region, s.group))
	s.expect("a deleted group is gone, with its machines", s.await(ctx, time.Minute, func() error {
		_, err := s.client.Group(ctx, s.region, s.group)
		if err = caused(err, mig.CauseNotFound); err != nil {
			return err
		}
		in, err := s.machine(ctx)
		if err == nil && in != nil {
			err = fmt.Errorf("the machine is %s", in.Status)
		}
		return err
	}))
}

// place checks what the region offers.
func (s *suite) place(ctx context.Context) bool {
	r, err := s.client.Region(ctx, s.region)
	if err == nil && !r.Up {
		err = errors.New("its status is not UP")
	}
	s.expect("the region is UP", err)
	err = nil
	if off := time.Since(s.client.Date()).Abs(); off > 30*time.Second {
		err = fmt.Errorf("the header Date is missing or off by %s", off)
	}
	s.expect("answers have a date", err)
	s.zone = s.region + "-a"
	up, err := s.client.ZoneIsUp(ctx, s.zone)
	if err == nil && !up {
		err = errors.New("its status is not UP")
	}
	s.expect("the zone is UP", err)
	_, err = s.client.Group(ctx, s.region, s.group)
	s.expect("an unknown group is not found", caused(err, mig.CauseNotFound))
	t, err := s.client.Template(ctx, s.link())
	if wrong := t.Contradictions(); err == nil && len(wrong) > 0 {
		err = errors.New(strings.Join(wrong, "; "))
	}
	if !s.expect("the template is one of flex-start", err) {
		return false
	}
	_, err = s.client.MachineType(ctx, s.zone, t.MachineType)
	return s.expect("the zone has the template's machine type", err)
}

func (s *suite) link() string {
	return "projects/" + s.project + "/regions/" + s.region + "/instanceTemplates/" + s.template
}

// newGroup checks the creation of a group.
func (s *suite) newGroup(ctx context.Context) bool {
	spec := mig.GroupSpec{Name: s.group, Region: s.region, Template: s.link(), Zones: []string{s.zone}, Stamp: s.stamp()}
	if !s.expect("a group can be created", s.client.CreateGroup(ctx, spec)) {
		return false
	}
	taken := s.client.CreateGroup(ctx, spec)
	err := caused(taken, mig.CauseExists)
	if owner := mig.FailedCall(taken).Owner; err == nil && owner != s.stamp() {
		err = fmt.Errorf("the owner is %s", owner)
	}
	s.expect("a group's name is taken, by its owner", err)
	return s.expect("the group is listed, with its stamp", s.await(ctx, 10*time.Second, func() error {
		g, err := s.listed(ctx)
		switch {
		case err != nil:
			return err
		case g.Stamp != s.stamp():
			return fmt.Errorf("its stamp is %s", g.Stamp)
		case g.TargetSize != 0 || len(g.Requests) > 0:
			return fmt.Errorf("a new group has size %d and %d requests", g.TargetSize, len(g.Requests))
		case !strings.HasSuffix(g.Template, "/"+s.template):
			return fmt.Errorf("its template is %q", g.Template)
		}
		return nil
	}))
}

// listed returns the group from the list of groups.
func (s *suite) listed(ctx context.Context) (mig.Group, error) {
	groups, unseen := s.client.Groups(ctx, cluster, []string{s.region})
	if err := unseen[s.region]; err != nil {
		return mig.Group{}, err
	}
	i := slices.IndexFunc(groups, func(g mig.Group) bool { return g.Name == s.group })
	if i < 0 {
		return mig.Group{}, errors.New("the list does not have it")
	}
	if groups[i].Unread != "" {
		return groups[i], errors.New(groups[i].Unread)
	}
	return groups[i], nil
}

// node is the name of the machine.
func (s *suite) node() string { return cluster + "-a3-0" }

// request checks the creation of a request.
func (s *suite) request(ctx context.Context) bool {
	spec := mig.RequestSpec{Name: "a1", Instances: []string{s.node()}, Duration: lease}
	if !s.expect("a machine can be requested", s.client.CreateRequest(ctx, s.region, s.group, spec)) {
		return false
	}
	s.expect("a request's name is taken", caused(s.client.CreateRequest(ctx, s.region, s.group, spec), mig.CauseExists))
	return s.expect("the group's size counts the request", s.await(ctx, 10*time.Second, func() error {
		g, err := s.listed(ctx)
		switch {
		case err != nil:
			return err
		case g.TargetSize != 1 || len(g.Requests) != 1:
			return fmt.Errorf("the group has size %d and %d requests", g.TargetSize, len(g.Requests))
		case !g.Requests[0].Names(s.node()) || g.Requests[0].Duration != lease:
			return fmt.Errorf("the request is %+v", g.Requests[0])
		}
		return nil
	}))
}

// outcome waits for the machine, or cancels the request.
func (s *suite) outcome(ctx context.Context) {
	_ = s.await(ctx, s.wait, func() error {
		if g, err := s.listed(ctx); err == nil && len(g.Requests) == 1 && !g.Requests[0].State.Live() {
			return nil
		}
		return errors.New("the request still waits")
	})
	g, err := s.listed(ctx)
	if err != nil || len(g.Requests) != 1 {
		s.expect("the request is listed", fmt.Errorf("%d requests: %w", len(g.Requests), err))
		return
	}
	switch r := g.Requests[0]; r.State {
	case mig.Succeeded:
		s.lived(ctx)
	case mig.Accepted:
		s.cancelled(ctx)
	default:
		s.expect("the request waits or succeeds", fmt.Errorf("it is %s: %s", r.State, r.Message))
	}
}

// cancelled checks a request that waits.
func (s *suite) cancelled(ctx context.Context) {
	fmt.Fprintf(s.out, "skip no machine within %s: 6 checks of machines\n", s.wait)
	s.skipped += 6
	s.expect("a request that waits cannot be deleted", caused(s.client.DeleteRequest(ctx, s.region, s.group, "a1"), mig.CauseConflict))
	s.expect("a request that waits can be cancelled", s.client.CancelRequest(ctx, s.region, s.group, "a1"))
	s.expect("a cancelled request is on record", s.await(ctx, time.Minute, func() error {
		g, err := s.client.Group(ctx, s.region, s.group)
		if err == nil && (len(g.Requests) != 1 || g.Requests[0].State != mig.Cancelled || g.TargetSize != 0) {
			err = fmt.Errorf("the group has size %d and the requests %+v", g.TargetSize, g.Requests)
		}
		return err
	}))
	s.expect("a cancelled request cannot be cancelled", caused(s.client.CancelRequest(ctx, s.region, s.group, "a1"), mig.CauseConflict))
	s.expect("a cancelled request can be deleted", s.client.DeleteRequest(ctx, s.region, s.group, "a1"))
}

// lived checks a request that has its machine.
func (s *suite) lived(ctx context.Context) {
	s.expect("a request with its machine cannot be cancelled", caused(s.client.CancelRequest(ctx, s.region, s.group, "a1"), mig.CauseConflict))
	s.expect("the machine runs, with its group and a lease", s.await(ctx, s.wait, func() error {
		in, err := s.machine(ctx)
		switch {
		case err != nil:
			return err
		case in == nil:
			return errors.New("the list does not have it")
		case in.Group != s.group || in.Status != "RUNNING" || in.Model != mig.FlexStart:
			return fmt.Errorf("it is %+v", *in)
		case in.Terminates.Before(in.Created) || in.Terminates.After(time.Now().Add(lease+time.Minute)):
			return fmt.Errorf("its lease ends at %s", in.Terminates)
		}
		return nil
	}))
	s.expect("a succeeded request can be deleted", s.client.DeleteRequest(ctx, s.region, s.group, "a1"))
	in, err := s.machine(ctx)
	if err != nil || in == nil {
		s.expect("its machine stays", fmt.Errorf("machine %v: %w", in, err))
		return
	}
	members, err := s.client.Members(ctx, s.region, s.group)
	if err == nil && (len(members) != 1 || members[0].Name != s.node()) {
		err = fmt.Errorf("the members are %+v", members)
	}
	s.expect("its machine stays, as a member of the group", err)
	gone := mig.Instance{Name: cluster + "-a3-7", Zone: in.Zone}
	s.expect("machines can be deleted, and unknown ones are skipped", s.client.DeleteInstances(ctx, s.region, s.group, []mig.Instance{gone, *in}))
	s.expect("a deleted machine is gone", s.await(ctx, s.wait, func() error {
		g, err := s.listed(ctx)
		in, unlisted := s.machine(ctx)
		if err = errors.Join(err, unlisted); err == nil && (in != nil || g.TargetSize != 0) {
			err = fmt.Errorf("machine %v, group of size %d", in, g.TargetSize)
		}
		return err
	}))
}

// machine returns the machine from the list of instances; nil if it is not there.
func (s *suite) machine(ctx context.Context) (*mig.Instance, error) {
	all, unseen := s.client.Instances(ctx, cluster, []string{s.region}, s.zone)
	i := slices.IndexFunc(all, func(in mig.Instance) bool { return in.Name == s.node() })
	if err := unseen[s.region]; err != nil || i < 0 {
		return nil, err
	}
	return &all[i], nil
}

// await calls look until it returns no error, for a limited time.
func (s *suite) await(ctx context.Context, limit time.Duration, look func() error) error {
	for end := time.Now().Add(limit); ; {
		err := look()
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
