package view

import (
	"fmt"
	"time"
)

// Limit is a limit on GPU hours and cost in a period.
type Limit struct {
	Name   string    `json:"limit"` // its name in the configuration
	Holder string    `json:"of"`    // such as "account bio"
	Period string    `json:"period"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Of     []Amount  `json:"amounts"`
}

// Amount is an amount of GPU hours or money in a Limit.
type Amount struct {
	Unit     string  `json:"unit"`
	Most     float64 `json:"limit"`
	Used     float64 `json:"used"`
	Reserved float64 `json:"reserved"` // what machines and live requests may still take
}

// limits describes the limits. If Slurm hides jobs from other users, it omits limits of accounts and
// users.
func (b *builder) limits() []Limit {
	all := []Limit{}
	for _, u := range b.plan.Limits {
		if b.scene.Seen.Private && u.Account+u.User != "" {
			continue
		}
		l := Limit{Name: u.Name, Holder: u.Holder(), Period: u.PeriodName(u.Per), From: second(u.From), To: second(u.To)}
		for _, m := range u.Measures() {
			l.Of = append(l.Of, Amount{m.Unit, m.Most, m.Used, max(0, m.Whole-m.Used)})
		}
		all = append(all, l)
	}
	return all
}

// Lines describes the limit, one line for each amount.
func (l Limit) Lines() (lines []string) {
	for _, a := range l.Of {
		lines = append(lines, fmt.Sprintf("limit %s: %s has used %.0f of %.0f %s of %s; its machines and requests may take %.0f more", l.Name, l.Holder, a.Used, a.Most, a.Unit, l.Period, a.Reserved))
	}
	return lines
}
