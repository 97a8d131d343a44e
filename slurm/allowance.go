package slurm

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Allowance is a limit on something that jobs may use at once, with the amount in use now.
type Allowance struct {
	Limit      string // as sacctmgr calls it, such as GrpTRES or MaxJobsPU; Licenses for a license
	Of         string // a trackable resource, such as node, cpu, gres/gpu or license/NAME, or its Minutes; JobCount: jobs
	Most, Used int64
}

// JobCount is the resource of an allowance that limits the number of jobs.
const JobCount = "jobs"

// The limits of a single job, of each of its nodes, and of its minutes.
const (
	PerJob     = "MaxTRESPJ"
	PerNode    = "MaxTRESPN"
	JobMinutes = "MaxTRESMinsPJ"
)

// IsPerJob reports whether what other jobs use does not count toward the limit.
func (a Allowance) IsPerJob() bool {
	return slices.Contains([]string{PerJob, PerNode, JobMinutes}, a.Limit)
}

// Minutes follows a resource if an allowance limits its minutes. TotalMinutes is the limit that also counts
// the minutes that jobs have used.
const (
	Minutes      = " minutes"
	TotalMinutes = "GrpTRESMins"
)

// AssociationKey names an account, or a user in an account.
type AssociationKey struct {
	Account   string
	User      string // empty for the limits of the account itself
	Partition string // empty for the user's jobs in all partitions
}

// Association holds the limits of an account, or of a user in an account.
type Association struct {
	Parent     *Association // the parent account; nil for the root account, or if unknown
	Account    string
	UID        string // the uid; empty for an account
	Allowances []Allowance
}

// QOS is a quality of service. Slurm lists the limits of users and accounts only for those with
// jobs.
type QOS struct {
	Allowances []Allowance
	Users      map[string][]Allowance // limits per user, by uid
	Accounts   map[string][]Allowance // limits per account
	Uncharged  bool                   // no job was charged to it so far: its UsageFactor may be 0
}

// Charge is what a pending job counts against, and how it chooses its nodes.
type Charge struct {
	Account, QOS, Licenses string
	MinTime                time.Duration // the shortest time limit that it accepts (--time-min); 0: its own
	ByPosition             bool          // it chooses nodes by their position: --switches, --contiguous
	ByHardware             bool          // it requests hardware otherwise than per node: --gpus, --gpus-per-task, -B, --tmp
}

// Allowances are the limits of accounts, users, QOS and licenses.
type Allowances struct {
	Associations map[AssociationKey]*Association
	QOS          map[string]*QOS
	Licenses     map[string]*Allowance
	Charges      map[uint32]Charge // by raw id of a pending job, or of its array
}

// ChargeOf returns the job's charge; the zero Charge if it is unknown.
func (a Allowances) ChargeOf(j *Job) Charge { return cmp.Or(a.Charges[j.ID], a.Charges[j.ArrayID]) }

// ParseAssociations parses the output of scontrol -o show assoc_mgr flags=assoc,qos. In that
// output, an account precedes its child accounts. Unreadable rows limit nothing. Only admins and
// coordinators can write text there, and sacctmgr makes that text lower-case. Therefore no comment
// can imitate a row. safe is a word of AccountingStorageEnforce; see minutesIn.
func ParseAssociations(out []byte, safe bool) (associations map[AssociationKey]*Association, qos map[string]*QOS, err error) {
	text := string(out)
	if !strings.HasPrefix(text, "Current Association Manager state") {
		return nil, nil, fmt.Errorf("scontrol show assoc_mgr: %s: not its heading", quote(text))
	}
	if !strings.HasSuffix(text, "\n") {
		return nil, nil, fmt.Errorf("scontrol show assoc_mgr: %w", errCutOff)
	}
	associations, qos = map[AssociationKey]*Association{}, map[string]*QOS{}
	accounts := map[string]*Association{} // by NAME(ID)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if name := userForm.FindStringSubmatch(wordAfter(line, "QOS")); name != nil && strings.HasPrefix(line, "QOS=") {
			qos[name[1]] = parseQOS(line, safe)
		}
		if !strings.HasPrefix(line, "ClusterName=") {
			continue
		}
		line, _, _ = cutKey(line, "Comment")
		key := AssociationKey{Account: wordAfter(line, "Account"), Partition: wordAfter(line, "Partition")}
		a := &Association{Account: key.Account, Allowances: append(allowancesIn(line, "GrpJobs", "GrpTRES", "MaxJobs", PerJob, PerNode), minutesIn(line, safe)...)}
		_, owner, _ := cutKey(line, "UserName")
		owner, _, _ = cutKey(owner, "Partition") // a name may contain spaces
		switch user := userForm.FindStringSubmatch(owner); {
		case user != nil:
			key.User, a.UID = user[1], user[2]
			a.Parent = associations[AssociationKey{Account: key.Account}]
		case owner != "":
			continue
		default:
			a.Parent = accounts[wordAfter(line, "ParentAccount")]
			accounts[key.Account+"("+wordAfter(line, "ID")+")"] = a
		}
		associations[key] = a
	}
	return associations, qos, nil
}

// shareForm matches the part of a QOS record for one user or account. For a user, Slurm 22.05 prints
// only the uid; 24.11 and 26.05 print the name too.
var shareForm = regexp.MustCompile(` (?:\S+\()?([^\s=(){}]+)\)?=\{([^{}]*)\}`)

// unchargedForm matches a QOS that has used nothing, and to which no running job is charged.
var unchargedForm = regexp.MustCompile(` UsageRaw=0\.0+ (?:.* )?GrpTRESRunMins=(?:[^ =]+=\w+\(0\),?)*(?: |$)`)

func parseQOS(line string, safe bool) *QOS {
	line, shares, _ := strings.Cut(line, " Account Limits=")
	accounts, users, _ := strings.Cut(shares, " User Limits=")
	read := func(text string, keys ...string) map[string][]Allowance {
		all := map[string][]Allowance{}
		for _, m := range shareForm.FindAllStringSubmatch(text, -1) {
			all[m[1]] = append(allowancesIn(m[2], keys...), minutesIn(m[2], safe)...)
		}
		return all
	}
	return &QOS{
		Allowances: append(allowancesIn(line, "GrpJobs", "GrpTRES", PerJob, PerNode), minutesIn(line, safe)...),
		Accounts:   read(accounts, "MaxJobsPA", "MaxTRESPA"),
		Users:      read(users, "MaxJobsPU", "MaxTRESPU"),
		Uncharged:  unchargedForm.MatchString(line),
	}
}

// amountForm matches a limit, the amount in use, or both. Slurm prints N for a limit that is not
// set.
var amountForm = regexp.MustCompile(`^(?:([^=]+)=)?(\d+)(?:\((\d+)\))?$`)

// allowancesIn returns the limits in text for the given keys. It skips limits that are not set.
func allowancesIn(text string, keys ...string) (all []Allowance) {
	for _, key := range keys {
		for item := range strings.SplitSeq(wordAfter(text, key), ",") {
			fields := amountForm.FindStringSubmatch(item)
			if fields == nil {
				continue
			}
			most, err := strconv.ParseInt(fields[2], 10, 64)
			used, _ := strconv.ParseInt(fields[3], 10, 64) // 0 if none is printed
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

// minutesIn returns the limits on minutes in text. With safe, Slurm adds the minutes that running jobs may
// still use to those that jobs have used. Without, it starts all jobs until the limit is reached.
func minutesIn(text string, safe bool) []Allowance {
	running := map[string]int64{}
	for _, a := range allowancesIn(strings.ReplaceAll(text, "=N(", "=0("), "GrpTRESRunMins") {
		running[a.Of] = a.Used
	}
	all := allowancesIn(text, TotalMinutes, "GrpTRESRunMins", "MaxTRESRunMinsPA", "MaxTRESRunMinsPU", JobMinutes)
	for i := range all {
		a := &all[i]
		switch {
		case a.Limit != TotalMinutes:
		case safe:
			a.Used += running[a.Of]
		case a.Used < a.Most:
			a.Most = math.MaxInt64
		}
		a.Of += Minutes
	}
	return all
}

// isSet reports whether a column of ChargeFormat shows an option that the job has.
func isSet(column string) bool {
	return !slices.Contains([]string{"", "0", "N/A", "(null)", "*:*:*"}, column)
}

// ParseLicenses parses the output of scontrol -o show licenses. It returns the licenses that jobs
// may have, without those that reservations keep. It leaves out a license that is listed twice.
func ParseLicenses(out []byte) map[string]*Allowance {
	all, listed := map[string]*Allowance{}, map[string]int{}
	for line := range strings.Lines(string(out)) {
		number := func(key string) int64 { return int64(numberOr0(wordAfter(strings.TrimSpace(line), key))) }
		if name := wordAfter(line, "LicenseName"); name != "" && countKey(line, "Total") == 1 {
			listed[name]++
			all[name] = &Allowance{"Licenses", "license/" + name, number("Total") - number("Reserved") - number("LastDeficit"), number("Used")}
		}
	}
	maps.DeleteFunc(all, func(name string, _ *Allowance) bool { return listed[name] > 1 })
	return all
}

// NeedsLicenses returns the number of each license in the charge, if a job needs all of them
// ("a:2,b"). For alternatives ("a:1|b:1") it returns none.
func (c Charge) NeedsLicenses() map[string]int64 {
	needs := map[string]int64{}
	for item := range strings.SplitSeq(c.Licenses, ",") {
		name, count, counted := strings.Cut(item, ":")
		if !counted {
			count = "1"
		}
		needs[name] += int64(numberOr0(count))
	}
	return needs
}

// The columns of ChargeFormat after the job's ID. Slurm 22.05 to 26.05 show these options alike, and only
// with -O.
var (
	chargeColumns   = []string{"Account", "QOS", "Licenses", "ArrayJobID", "MinTime"}
	positionColumns = []string{"ReqSwitch", "Contiguous"}
	hardwareColumns = []string{"tres-per-job", "tres-per-task", "tres-per-socket", "cpus-per-tres", "mem-per-tres", "MinTmpDisk", "SCT"}
)

// ChargeFormat returns the -O argument of squeue for ParseCharges. If Slurm does not check accounts, a
// job's owner may use any text as the account.
func ChargeFormat(mark string) string {
	opens, closes := marks(mark)
	columns := slices.Concat(chargeColumns, positionColumns, hardwareColumns)
	return "JobID:|" + opens + "," + strings.Join(columns, ":"+closes+"|"+opens+",") + ":" + closes
}

// ParseCharges parses the output of squeue -h with ChargeFormat(mark). The keys of the result are
// raw job ids. The tasks of an array have the same charge, so the array's id has the charge of any
// one task. Unreadable rows are left out.
func ParseCharges(out []byte, mark string) map[uint32]Charge {
	charges := map[uint32]Charge{}
	for line := range strings.Lines(flatten(string(out), mark)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		hardware := 1 + len(chargeColumns) + len(positionColumns)
		if len(fields) != hardware+len(hardwareColumns) {
			continue
		}
		charge := Charge{
			notNull(fields[1]), notNull(fields[2]), notNull(fields[3]), ParseLimit(fields[5]).Duration,
			slices.ContainsFunc(fields[1+len(chargeColumns):hardware], isSet), slices.ContainsFunc(fields[hardware:], isSet),
		}
		for _, raw := range []string{fields[4], fields[0]} {
			if id, err := parseJobID(raw); err == nil {
				charges[id] = charge
			}
		}
	}
	return charges
}
