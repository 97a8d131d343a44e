package slurm

import "strings"

// maxAccount is the longest account name in bytes. Source: slurmdbd's tables, which store it as a
// tinytext.
const maxAccount = 255

// AccountFormat returns the -o argument of squeue for ParseAccounts. If Slurm does not check
// accounts, an account may be any text.
func AccountFormat(mark string) string { return "%A|" + marked(mark, "%a") }

// ParseAccounts parses the output of squeue -h with AccountFormat(mark). It returns each job's
// account by raw job id. Bars and control characters in a name become spaces. It omits unreadable
// rows, jobs that are listed twice, and jobs without an account, as on a Slurm without accounting.
func ParseAccounts(out []byte, mark string) map[uint32]string {
	accounts, listed := map[uint32]string{}, map[uint32]bool{}
	for line := range strings.Lines(flatten(string(out), mark)) {
		row, whole := strings.CutSuffix(line, "\n")
		raw, account, _ := strings.Cut(row, "|")
		id, err := parseJobID(raw)
		switch account = clip(notNull(strings.TrimSpace(account)), maxAccount); {
		case err != nil || !whole:
		case listed[id]:
			delete(accounts, id)
		case account != "" && account != "N/A" && !strings.Contains(account, "|"):
			accounts[id] = account
		}
		listed[id] = true
	}
	return accounts
}
