package estimate

import "slurmflex/flex/history"

// An hour and a day in seconds.
const (
	hour = 3600
	day  = 24 * hour
)

// Cell is the estimate for another request.
type Cell struct {
	Request  Request
	Estimate *Estimate // nil if the history lacks similar waits
}

// WhatIf returns a table of requests for the same nodeset: a row for each of these leases, in
// seconds, with a cell for each of these numbers of nodes.
func (s *Samples) WhatIf(counts []int, leases []int64, now history.Time) (rows [][]Cell) {
	for _, lease := range leases {
		var row []Cell
		for _, count := range counts {
			cell := Cell{Request: Request{count, lease}}
			if e, ok := s.For(cell.Request, 0, now); ok {
				cell.Estimate = &e
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// Chance is the probability that machines are created within some hours.
type Chance struct {
	Hours  int     `json:"hours"`
	Chance float64 `json:"chance"` // 0 to 1
}

// chanceHours are the hours of the chances that a report shows, and whatIfHours those in its tables.
var (
	chanceHours = []int{1, 2, 4, 8, 12, 24, 48, 96, 168}
	whatIfHours = []int{1, 4, 24, 96}
)

// Chances returns how likely machines are created within some hours, for a wait that has lasted
// that many seconds. It ends at the longest known wait. It is nil if fewer than the least number of
// known waits are so long.
func (e Estimate) Chances(waited int64) (chances []Chance) {
	rest := e.Curve.After(waited)
	if rest.samples < least {
		return nil
	}
	for _, hours := range chanceHours {
		chances = append(chances, Chance{Hours: hours, Chance: rest.Chance(int64(hours) * hour)})
		if int64(hours)*hour >= rest.Known() {
			break
		}
	}
	return chances
}
