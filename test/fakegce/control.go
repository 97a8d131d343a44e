package fakegce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
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
	case "DELETE faults":
		s.ClearFaults()
		return done{true}, nil
	case "POST capacity":
		return order(body, s.orderCapacity)
	case "POST zones":
		return order(body, s.orderZone)
	case "POST withdraw":
		return order(body, func(w struct{ Zone, MachineType string }) error {
			s.Withdraw(w.Zone, w.MachineType)
			return nil
		})
	case "POST reservations":
		return order(body, func(r struct {
			Name, Zone, MachineType string
			Count                   int
		},
		) error {
			return s.SetReservation(r.Name, r.Zone, r.MachineType, r.Count)
		})
	case "POST quota":
		return order(body, func(q struct {
			Region, Metric string
			Limit          float64
		},
		) error {
			return s.SetQuota(q.Region, q.Metric, q.Limit)
		})
	case "POST faults":
		return order(body, func(f faultOrder) error {
			f.faultFields.Delay, f.faultFields.Lag = f.Delay.Duration, f.Lag.Duration
			return s.AddFault(Fault(f.faultFields))
		})
	case "POST fail":
		return order(body, func(f struct{ Group, Request, Code, Message string }) error {
			return s.FailRequest(f.Group, f.Request, f.Code, f.Message)
		})
	case "POST advance":
		return order(body, func(t times) error {
			s.Advance(t.Duration.Duration)
			return nil
		})
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
			return order(body, func(t times) error { return s.EndLease(name, t.Left.Duration) })
		case "maintenance":
			return order(body, func(t times) error { return s.AnnounceMaintenance(name, t.In.Duration, t.Lasts.Duration) })
		case "host-error":
			return order(body, func(t times) error { return s.FailHost(name, t.Repair.Duration) })
		}
	}
	return nil, fmt.Errorf("unknown command %q; see slurmflex-fakegce --help", line)
}

type capacity struct {
	Zone, MachineType, Model string
	Count                    int
}

func (s *Server) orderCapacity(c capacity) error {
	if c.Model != "" {
		return s.SetModelCapacity(c.Zone, c.MachineType, c.Model, c.Count)
	}
	s.SetCapacity(c.Zone, c.MachineType, c.Count)
	return nil
}

type zoneState struct {
	Zone string
	Up   *bool
	Dead bool
}

func (s *Server) orderZone(z zoneState) error {
	if !slices.Contains(s.opts.Zones, z.Zone) {
		return fmt.Errorf("set zone: unknown zone %q", z.Zone)
	}
	s.SetZoneUp(z.Zone, z.Up == nil || *z.Up)
	s.SetZoneDead(z.Zone, z.Dead)
	return nil
}

type faultFields Fault

// faultOrder is a Fault with durations as JSON strings.
type faultOrder struct {
	faultFields
	Delay duration `json:"delay"`
	Lag   duration `json:"lag"`
}

// times are the durations of the commands that take any: advance duration, lease left, maintenance
// in and lasts, and host-error repair.
type times struct{ Duration, Left, In, Lasts, Repair duration }

// duration is a time.Duration written in JSON as a string such as "1h30m".
type duration struct{ time.Duration }

func (d *duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

// readObject reads one JSON object and refuses unknown fields.
func readObject(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
