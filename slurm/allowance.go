package slurm

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Allowance is the most of something that jobs may have at once, and what they have of it now.
type Allowance struct {
	Limit      string // as sacctmgr calls it, such as GrpTRES or MaxJobsPU; Licenses for a license
	Of         string // a trackable resource, such as node, cpu, gres/gpu or license/NAME; JobCount: jobs
	Most, Used int64
}

// JobCount is what an allowance of jobs is of.
const JobCount = "jobs"

// PerJob is the limit of a single job; what other jobs have does not count.
const PerJob = "MaxTRESPJ"

// Association is an account, or a user in an account, with the limits of its own.
type Association struct {
	ID, Parent uint32 // Parent is 0 for a user, whose parent is the account, and for the root account
	Account    string
	User, UID  string // "" for the account itself
	Partition  string // "": the user's jobs in all partitions
	Allowances []Allowance
}

// QOS is a quality of service. Slurm lists the limits of users and accounts only for those with jobs.
type QOS struct {
	Allowances []Allowance
	Users      map[string][]Allowance // for each user, by uid
	Accounts   map[string][]Allowance // for each account
}

// Charge is what a job counts for.
type Charge struct{ Account, QOS, Licenses string }

// Allowances are the limits of accounts, users, QOS and licenses.
type Allowances struct {
	Associations []Association
	QOS          map[string]QOS
	Licenses     map[string]Allowance
	Charges      map[uint32]Charge // of pending jobs by raw id, and of their arrays
}

// AllowanceOf returns the job's charge; false if it is not known.
func (a Allowances) ChargeOf(j *Job) (Charge, bool) {
	charge, known := a.Charges[j.ID]
	if !known {
		charge, known = a.Charges[j.ArrayID]
	}
	return charge, known
}

// ParseAssociations reads what scontrol -o show assoc_mgr flags=assoc,qos printed. Rows that cannot be
// read are left out: they limit nothing. Only admins and coordinators write what is in it, and sacctmgr
// makes it lower-case, so that no comment can begin a row.
func ParseAssociations(out []byte) (associations []Association, qos map[string]QOS, err error) {
	text := string(out)
	if !strings.HasPrefix(text, "Current Association Manager state") {
		return nil, nil, fmt.Errorf("scontrol show assoc_mgr: %s: not its heading", quote(text))
	}
	if !strings.HasSuffix(text, "\n") {
		return nil, nil, fmt.Errorf("scontrol show assoc_mgr: %w", errCutOff)
	}
	qos = map[string]QOS{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "ClusterName="):
			if a, ok := parseAssociation(line); ok {
				associations = append(associations, a)
			}
		case strings.HasPrefix(line, "QOS="):
			if fields := userForm.FindStringSubmatch(wordAfter(line, "QOS")); fields != nil {
				qos[fields[1]] = parseQOS(line)
			}
		}
	}
	return associations, qos, nil
}

func parseAssociation(line string) (a Association, ok bool) {
	line, _, _ = cutKey(line, "Comment")
	id, err := strconv.ParseUint(wordAfter(line, "ID"), 10, 32)
	a = Association{ID: uint32(id), Account: wordAfter(line, "Account"), Partition: wordAfter(line, "Partition")}
	if fields := userForm.FindStringSubmatch(wordAfter(line, "UserName")); fields != nil {
		a.User, a.UID = fields[1], fields[2]
	}
	if fields := userForm.FindStringSubmatch(wordAfter(line, "ParentAccount")); fields != nil {
		parent, _ := strconv.ParseUint(fields[2], 10, 32) // 0 if it fails: no account has that id
		a.Parent = uint32(parent)
	}
	a.Allowances = allowancesIn(line, "GrpJobs", "GrpTRES", "MaxJobs", PerJob)
	return a, err == nil && a.Account != ""
}

// shareForm is the part of a user or an account in a QOS. 22.05 to 24.11 print a user's uid alone.
var shareForm = regexp.MustCompile(` (?:\S+\()?([^\s=(){}]+)\)?=\{([^{}]*)\}`)

func parseQOS(line string) QOS {
	line, shares, _ := strings.Cut(line, " Account Limits=")
	accounts, users, _ := strings.Cut(shares, " User Limits=")
	read := func(text string, keys ...string) map[string][]Allowance {
		all := map[string][]Allowance{}
		for _, m := range shareForm.FindAllStringSubmatch(text, -1) {
			all[m[1]] = allowancesIn(m[2], keys...)
		}
		return all
	}
	return QOS{
		Allowances: allowancesIn(line, "GrpJobs", "GrpTRES", PerJob),
		Accounts:   read(accounts, "MaxJobsPA", "MaxTRESPA"),
		Users:      read(users, "MaxJobsPU", "MaxTRESPU"),
	}
}

// amountForm is a limit, what is used of it, or both. A limit that is not set is N.
var amountForm = regexp.MustCompile(`^(?:([^=]+)=)?(\d+)(?:\((\d+)\))?$`)

// allowancesIn reads the limits of these keys that are set.
func allowancesIn(text string, keys ...string) (all []Allowance) {
	for _, key := range keys {
		for item := range strings.SplitSeq(wordAfter(text, key), ",") {
			fields := amountForm.FindStringSubmatch(item)
			if fields == nil {
				continue
			}
			most, err := strconv.ParseInt(fields[2], 10, 64)
			used, _ := strconv.ParseInt(fields[3], 10, 64) // 0 where none is shown
			if err == nil {
				all = append(all, Allowance{Limit: key, Of: fields[1], Most: most, Used: used})
				if fields[1] == "" {
					all[len(all)-1].Of = JobCount
				}
			}
		}
	}
	return all
}

// ParseLicenses reads what scontrol -o show licenses printed: the licenses that jobs may have, without
// those that reservations keep. A license that is listed twice is left out.
func ParseLicenses(out []byte) map[string]Allowance {
	all, listed := map[string]Allowance{}, map[string]int{}
	for line := range strings.Lines(string(out)) {
		number := func(key string) int64 { return int64(numberOr0(wordAfter(strings.TrimSpace(line), key))) }
		if name := wordAfter(line, "LicenseName"); name != "" && strings.Contains(line, " Total=") {
			listed[name]++
			all[name] = Allowance{
				Limit: "Licenses", Of: "license/" + name,
				Most: number("Total") - number("Reserved") - number("LastDeficit"), Used: number("Used"),
			}
		}
	}
	maps.DeleteFunc(all, func(name string, _ Allowance) bool { return listed[name] > 1 })
	return all
}

// licenseForm is one license of a list in which a job needs all. A job may also need one of several
// ("a|b"), which is not counted.
var licenseForm = regexp.MustCompile(`^([^:|()]+?)(?::(\d+))?$`)

// NeedsLicenses returns how many of each license the charge is for.
func (c Charge) NeedsLicenses() map[string]int64 {
	needs := map[string]int64{}
	if strings.ContainsAny(c.Licenses, "|()") {
		return needs
	}
	for item := range strings.SplitSeq(c.Licenses, ",") {
		if fields := licenseForm.FindStringSubmatch(item); fields != nil {
			count := int64(1)
			if fields[2] != "" {
				count = int64(numberOr0(fields[2]))
			}
			needs[fields[1]] += count
		}
	}
	return needs
}

// ChargeFormat returns the -o argument of squeue for ParseCharges. A job's owner may write any text as
// its account, where Slurm does not check accounts.
func ChargeFormat(mark string) string {
	return "%A|%F|" + marked(mark, "%a") + "|" + marked(mark, "%q") + "|" + marked(mark, "%W")
}

// ParseCharges reads what squeue -h with ChargeFormat(mark) printed, by raw job id. An array's tasks are
// charged alike: the array's id has the charge of one of them. Rows that cannot be read are left out.
func ParseCharges(out []byte, mark string) map[uint32]Charge {
	charges := map[uint32]Charge{}
	for line := range strings.Lines(flatten(string(out), mark)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(fields) != 5 {
			continue
		}
		charge := Charge{notNull(fields[2]), notNull(fields[3]), notNull(fields[4])}
		for _, raw := range slices.Backward(fields[:2]) {
			if id, err := parseJobID(raw); err == nil {
				charges[id] = charge
			}
		}
	}
	return charges
}
