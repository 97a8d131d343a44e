package fakegce

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// controlPrefix is where the control surface begins.
const controlPrefix = "/fake/"

// control answers a request of the control surface, which slurmflex-fakegce's
// --help lists.
func (s *Server) control(r *http.Request, body []byte) reply {
	result, err := s.command(r.Method+" "+strings.TrimPrefix(r.URL.Path, controlPrefix), body)
	if err != nil {
		b, _ := json.Marshal(map[string]string{"error": err.Error()}) // a map of strings always encodes
		return reply{status: http.StatusBadRequest, body: b}
	}
	return encode(result)
}

// done is the answer of a command that has nothing to show.
type done struct {
	Done bool `json:"done"`
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
		return s.commandCapacity(body)
	case "POST zones":
		return s.commandZone(body)
	case "POST withdraw":
		return s.commandWithdraw(body)
	case "POST reservations":
		return s.commandReservation(body)
	case "POST quota":
		return s.commandQuota(body)
	case "POST faults":
		return s.commandFault(body)
	case "POST fail":
		return s.commandFail(body)
	case "POST advance":
		return s.commandAdvance(body)
	}
	if rest, ok := strings.CutPrefix(line, "POST vms/"); ok {
		name, verb, _ := strings.Cut(rest, "/")
		switch verb {
		case "delete":
			return done{true}, s.DeleteVM(name)
		case "stop":
			return done{true}, s.StopVM(name)
		case "preempt":
			return done{true}, s.PreemptVM(name)
		case "lease":
			return s.commandLease(name, body)
		case "maintenance":
			return s.commandMaintenance(name, body)
		case "host-error":
			return s.commandHostError(name, body)
		}
	}
	return nil, fmt.Errorf("there is no command %q; see slurmflex-fakegce --help", line)
}

func (s *Server) commandCapacity(body []byte) (any, error) {
	c := struct {
		Zone        string `json:"zone"`
		MachineType string `json:"machineType"`
		Model       string `json:"model"`
		Count       *int   `json:"count"`
	}{}
	if err := readCommand(body, &c); err != nil {
		return nil, err
	}
	if c.Count == nil {
		return nil, errors.New(`set capacity: no "count"; -1 is no limit`)
	}
	if c.Model != "" {
		return done{true}, s.SetModelCapacity(c.Zone, c.MachineType, c.Model, *c.Count)
	}
	s.SetCapacity(c.Zone, c.MachineType, *c.Count)
	return done{true}, nil
}

func (s *Server) commandZone(body []byte) (any, error) {
	z := struct {
		Zone string `json:"zone"`
		Up   *bool  `json:"up"`
		Dead *bool  `json:"dead"`
	}{}
	if err := readCommand(body, &z); err != nil {
		return nil, err
	}
	if !slices.Contains(s.opts.Zones, z.Zone) {
		return nil, fmt.Errorf("set zone: there is no zone %q", z.Zone)
	}
	if z.Up == nil && z.Dead == nil {
		return nil, fmt.Errorf(`set zone %s: no "up" and no "dead"; "up": false is DOWN`, z.Zone)
	}
	if z.Up != nil {
		s.SetZoneUp(z.Zone, *z.Up)
	}
	if z.Dead != nil {
		s.SetZoneDead(z.Zone, *z.Dead)
	}
	return done{true}, nil
}

func (s *Server) commandWithdraw(body []byte) (any, error) {
	m := struct {
		Zone        string `json:"zone"`
		MachineType string `json:"machineType"`
	}{}
	if err := readCommand(body, &m); err != nil {
		return nil, err
	}
	if !slices.Contains(s.opts.Zones, m.Zone) {
		return nil, fmt.Errorf("withdraw: there is no zone %q", m.Zone)
	}
	if _, known := s.machine[m.MachineType]; !known {
		return nil, fmt.Errorf("withdraw: there is no machine type %q", m.MachineType)
	}
	s.Withdraw(m.Zone, m.MachineType)
	return done{true}, nil
}

func (s *Server) commandReservation(body []byte) (any, error) {
	r := struct {
		Name        string `json:"name"`
		Zone        string `json:"zone"`
		MachineType string `json:"machineType"`
		Count       *int   `json:"count"`
	}{}
	if err := readCommand(body, &r); err != nil {
		return nil, err
	}
	if r.Count == nil {
		return nil, errors.New(`set reservation: no "count"`)
	}
	return done{true}, s.SetReservation(r.Name, r.Zone, r.MachineType, *r.Count)
}

func (s *Server) commandQuota(body []byte) (any, error) {
	q := struct {
		Region string   `json:"region"`
		Metric string   `json:"metric"`
		Limit  *float64 `json:"limit"`
	}{}
	if err := readCommand(body, &q); err != nil {
		return nil, err
	}
	if q.Metric == "" || q.Limit == nil {
		return nil, errors.New(`set quota: "metric" and "limit" must be given, and a "region" unless the quota is that of global operations; limit -1 is none`)
	}
	return done{true}, s.SetQuota(q.Region, q.Metric, *q.Limit)
}

func (s *Server) commandFault(body []byte) (any, error) {
	type plain Fault
	f := struct {
		plain
		Delay string `json:"delay"`
		Lag   string `json:"lag"`
	}{}
	err := readCommand(body, &f)
	if err != nil {
		return nil, err
	}
	if f.plain.Delay, err = duration("delay", f.Delay); err != nil {
		return nil, err
	}
	if f.plain.Lag, err = duration("lag", f.Lag); err != nil {
		return nil, err
	}
	return done{true}, s.AddFault(Fault(f.plain))
}

func (s *Server) commandFail(body []byte) (any, error) {
	f := struct {
		Group   string `json:"group"`
		Request string `json:"request"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{}
	if err := readCommand(body, &f); err != nil {
		return nil, err
	}
	if f.Code == "" {
		return nil, errors.New(`fail resize request: no "code", such as QUOTA_EXCEEDED`)
	}
	return done{true}, s.FailRequest(f.Group, f.Request, f.Code, f.Message)
}

func (s *Server) commandAdvance(body []byte) (any, error) {
	a := struct {
		Duration string `json:"duration"`
	}{}
	if err := readCommand(body, &a); err != nil {
		return nil, err
	}
	d, err := duration("duration", a.Duration)
	if err != nil {
		return nil, err
	}
	if d <= 0 {
		return nil, errors.New(`advance: "duration" must be positive, such as "1h"`)
	}
	s.Advance(d)
	return done{true}, nil
}

func (s *Server) commandLease(name string, body []byte) (any, error) {
	l := struct {
		Left string `json:"left"`
	}{}
	if err := readCommand(body, &l); err != nil {
		return nil, err
	}
	left, err := duration("left", l.Left)
	if err != nil {
		return nil, err
	}
	if left <= 0 {
		return nil, fmt.Errorf(`end lease of instance %s: "left" must be positive, such as "90s"`, name)
	}
	return done{true}, s.EndLease(name, left)
}

func (s *Server) commandMaintenance(name string, body []byte) (any, error) {
	m := struct {
		In    string `json:"in"`
		Lasts string `json:"lasts"`
	}{}
	if err := readCommand(body, &m); err != nil {
		return nil, err
	}
	in, err := duration("in", m.In)
	if err != nil {
		return nil, err
	}
	lasts, err := duration("lasts", m.Lasts)
	if err != nil {
		return nil, err
	}
	if in <= 0 || lasts <= 0 {
		return nil, fmt.Errorf(`announce maintenance of instance %s: "in" and "lasts" must be positive, such as "1h"`, name)
	}
	return done{true}, s.AnnounceMaintenance(name, in, lasts)
}

func (s *Server) commandHostError(name string, body []byte) (any, error) {
	h := struct {
		Repair string `json:"repair"`
	}{}
	if err := readCommand(body, &h); err != nil {
		return nil, err
	}
	repair, err := duration("repair", h.Repair)
	if err != nil {
		return nil, err
	}
	return done{true}, s.FailHost(name, repair)
}
