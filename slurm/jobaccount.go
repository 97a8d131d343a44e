package slurm

import "strings"

// AccountFormat is the -o argument of squeue for ParseAccounts.
const AccountFormat = "%A|%a"

// ParseAccounts reads, from what squeue -h with AccountFormat printed, which
// account each job is charged to, by its raw id. Jobs without an account, as where
// Slurm has no accounting, and rows that cannot be read are not in the answer.
func ParseAccounts(out []byte) map[uint32]string {
	accounts := map[uint32]string{}
	for line := range strings.Lines(string(out)) {
		raw, account, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "|")
		id, err := parseJobID(raw)
		if account = notNull(account); err == nil && account != "" && account != "N/A" && !strings.Contains(account, "|") {
			accounts[id] = account
		}
	}
	return accounts
}
