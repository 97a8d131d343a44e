package config

import "slices"

// Period is the time that a limit counts in.
type Period string

// The periods. They start at midnight, local time; weeks start on Monday.
const (
	Month Period = "month"
	Week  Period = "week"
	Day   Period = "day"
)

// Limit limits what machines take in a period: those of the jobs of a partition, an account or a
// user, or of the whole cluster.
type Limit struct {
	Name      string `key:"-"`
	Line      int    `key:"-"` // in the file
	Partition string `key:"partition" values:"key in partitions" doc:"Limits this partition."`
	Account   string `key:"account" values:"name" doc:"Limits this account."`
	User      string `key:"user" values:"name" doc:"Limits this user."`
	GPUHours  int    `key:"gpu_hours" unit:"GPU hours" range:"1 to 1000000000" doc:"Most GPU hours in a period."`
	Cost      int    `key:"cost" range:"1 to 1000000000" doc:"Most money in a period, at the prices in prices.yaml."`
	Per       Period `key:"per" words:"month week day" doc:"Starts at midnight, local time; a week on Monday."`
}

// readLimits reads the limits in the order of the file.
func readLimits(sections []*section) (limits []Limit) {
	for _, s := range sections {
		l := defaults[Limit]()
		s.read(&l, all)
		_, hours := s.value("gpu_hours")
		_, cost := s.value("cost")
		l.Name, l.Line = s.name, s.line
		of := slices.DeleteFunc([]string{l.Partition, l.Account, l.User}, func(name string) bool { return name == "" })
		switch {
		case !plainKey.MatchString(l.Name):
			s.r.problem(s.line, s.path, "the name of a limit has letters, digits, dashes and underscores only; rename it")
		case !hours && !cost:
			s.r.problem(s.line, s.path, "limits nothing; set gpu_hours or cost")
		case len(of) > 1:
			s.r.problem(s.line, s.path, "has several of partition, account and user; keep one")
		}
		s.finish()
		limits = append(limits, l)
	}
	return limits
}
