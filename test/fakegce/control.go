package fakegce

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// controlPrefix is the path prefix of the control surface.
const controlPrefix = "/fake/"

// control answers a request to the control surface. `slurmflex-fakegce --help` lists its
// commands.
func (s *Server) control(r *http.Request, body []byte) reply {
	result, err := s.command(r.Method+" "+strings.TrimPrefix(r.URL.Path, controlPrefix), body)
	if err != nil {
		b, _ := json.Marshal(map[string]string{"error": err.Error()}) // a map of strings always encodes
		return reply{status: http.StatusBadRequest, body: b}
	}
	return encode(result)
}

// done is the answer of a command without output.
type done struct {
	Done bool `json:"done"`
}

// order runs a command with a body of type T. It refuses unknown fields.
func order[T any](body []byte, obey func(T) error) (any, error) {
	var o T
	if err := readObject(body, &o); err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	return done{true}, obey(o)
}

func (s *Server) command(line string, body []byte) (any, error) {
	switch line {
	case "GET state":
		return s.State(), nil
	case "GET calls":
		return s.Calls(), nil
	case "GET counts":
		return s.Counts(), nil
	case "DELETE calls":
		s.ResetCalls()
		return done{true}, nil
	case "DELETE faults":
		s.ClearFaults()
		return done{true}, nil
	case "POST capacity":
		return order(body, s.orderCapacity)
	case "POST zones":
		return order(body, s.orderZone)
	case "POST withdraw":
		return order(body, s.orderWithdrawal)
	case "POST reservations":
		return order(body, s.orderReservation)
	case "POST quota":
		return order(body, s.orderQuota)
	case "POST faults":
		return order(body, s.orderFault)
	case "POST fail":
		return order(body, s.orderFailure)
	case "POST advance":
		return order(body, s.orderAdvance)
	}
	if rest, ok := strings.CutPrefix(line, "POST vms/"); ok {
		name, verb, _ := strings.Cut(rest, "/")
		switch verb {
		case "delete":
			return done{true}, s.DeleteVM(name)
		case "same-host":
			return done{true}, s.GiveHostAgain(name)
		case "stop":
			return done{true}, s.StopVM(name)
		case "preempt":
			return done{true}, s.PreemptVM(name)
		case "lease":
			return order(body, func(l lease) error { return s.orderLease(name, l) })
		case "maintenance":
			return order(body, func(m maintenance) error { return s.orderMaintenance(name, m) })
		case "host-error":
			return order(body, func(e hostError) error { return s.FailHost(name, e.Repair.Duration) })
		}
	}
	return nil, fmt.Errorf("unknown command %q; see slurmflex-fakegce --help", line)
}

type capacity struct {
	Zone        string `json:"zone"`
	MachineType string `json:"machineType"`
	Model       string `json:"model"`
	Count       *int   `json:"count"`
}

func (s *Server) orderCapacity(c capacity) error {
	switch {
	case c.Count == nil:
		return errors.New(`set capacity: no "count"; -1 is no limit`)
	case c.Model != "":
		return s.SetModelCapacity(c.Zone, c.MachineType, c.Model, *c.Count)
	}
	s.SetCapacity(c.Zone, c.MachineType, *c.Count)
	return nil
}

type zoneState struct {
	Zone string `json:"zone"`
	Up   *bool  `json:"up"`
	Dead *bool  `json:"dead"`
}

func (s *Server) orderZone(z zoneState) error {
	if !slices.Contains(s.opts.Zones, z.Zone) {
		return fmt.Errorf("set zone: unknown zone %q", z.Zone)
	}
	if z.Up == nil && z.Dead == nil {
		return fmt.Errorf(`set zone %s: no "up" and no "dead"; "up": false is DOWN`, z.Zone)
	}
	if z.Up != nil {
		s.SetZoneUp(z.Zone, *z.Up)
	}
	if z.Dead != nil {
		s.SetZoneDead(z.Zone, *z.Dead)
	}
	return nil
}

type withdrawal struct {
	Zone        string `json:"zone"`
	MachineType string `json:"machineType"`
}

func (s *Server) orderWithdrawal(w withdrawal) error {
	if !slices.Contains(s.opts.Zones, w.Zone) {
		return fmt.Errorf("withdraw: unknown zone %q", w.Zone)
	}
	if _, known := s.machine[w.MachineType]; !known {
		return fmt.Errorf("withdraw: unknown machine type %q", w.MachineType)
	}
	s.Withdraw(w.Zone, w.MachineType)
	return nil
}

type reservationSize struct {
	Name        string `json:"name"`
	Zone        string `json:"zone"`
	MachineType string `json:"machineType"`
	Count       *int   `json:"count"`
}

func (s *Server) orderReservation(r reservationSize) error {
	if r.Count == nil {
		return errors.New(`set reservation: no "count"`)
	}
	return s.SetReservation(r.Name, r.Zone, r.MachineType, *r.Count)
}

type quotaLimit struct {
	Region string   `json:"region"`
	Metric string   `json:"metric"`
	Limit  *float64 `json:"limit"`
}

func (s *Server) orderQuota(q quotaLimit) error {
	if q.Metric == "" || q.Limit == nil {
		return errors.New(`set quota: "metric" and "limit" must be given, and a "region" unless the quota is that of global operations; limit -1 is none`)
	}
	return s.SetQuota(q.Region, q.Metric, *q.Limit)
}

type faultFields Fault

// faultOrder is a Fault with durations as JSON strings.
type faultOrder struct {
	faultFields
	Delay duration `json:"delay"`
	Lag   duration `json:"lag"`
}

func (s *Server) orderFault(f faultOrder) error {
	f.faultFields.Delay, f.faultFields.Lag = f.Delay.Duration, f.Lag.Duration
	return s.AddFault(Fault(f.faultFields))
}

type failure struct {
	Group   string `json:"group"`
	Request string `json:"request"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (s *Server) orderFailure(f failure) error {
	if f.Code == "" {
		return errors.New(`fail resize request: no "code", such as QUOTA_EXCEEDED`)
	}
	return s.FailRequest(f.Group, f.Request, f.Code, f.Message)
}

type advance struct {
	Duration duration `json:"duration"`
}

func (s *Server) orderAdvance(a advance) error {
	if a.Duration.Duration <= 0 {
		return errors.New(`advance: "duration" must be positive, such as "1h"`)
	}
	s.Advance(a.Duration.Duration)
	return nil
}

type lease struct {
	Left duration `json:"left"`
}

func (s *Server) orderLease(name string, l lease) error {
	if l.Left.Duration <= 0 {
		return fmt.Errorf(`end lease of instance %s: "left" must be positive, such as "90s"`, name)
	}
	return s.EndLease(name, l.Left.Duration)
}

type maintenance struct {
	In    duration `json:"in"`
	Lasts duration `json:"lasts"`
}

func (s *Server) orderMaintenance(name string, m maintenance) error {
	if m.In.Duration <= 0 || m.Lasts.Duration <= 0 {
		return fmt.Errorf(`announce maintenance of instance %s: "in" and "lasts" must be positive, such as "1h"`, name)
	}
	return s.AnnounceMaintenance(name, m.In.Duration, m.Lasts.Duration)
}

type hostError struct {
	Repair duration `json:"repair"`
}
