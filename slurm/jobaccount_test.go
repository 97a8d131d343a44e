package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// accountRow returns a row of squeue in AccountFormat("m4rk").
func accountRow(id, account string) string { return id + "|m4rk<" + account + ">m4rk\n" }

// accountsOf returns the accounts of jobs in squeue's output.
func accountsOf(out string) map[uint32]string { return ParseAccounts([]byte(out), "m4rk") }

func TestOnlyJobsWithAnAccountAreCharged(t *testing.T) {
	require.Equal(t, "%A|m4rk<%a>m4rk", AccountFormat("m4rk"))
	out := accountRow("812", "ml-research") + accountRow("813", "(null)") + accountRow("814", "") + accountRow("815", "N/A") +
		accountRow("x", "ml") + "\n816\n817\n" + accountRow("818", "physics") + "819|m4rk<cut o"
	assert.Equal(t, map[uint32]string{812: "ml-research", 818: "physics"}, accountsOf(out))
	assert.Empty(t, accountsOf(strings.TrimSuffix(accountRow("812", "ml"), "\n")), "a last line that breaks off")
}

func TestJobListedTwiceHasNoAccount(t *testing.T) {
	accounts := accountsOf(accountRow("8", "ml") + accountRow("9", "ml") + accountRow("8", "mallory") + accountRow("8", "ml"))
	assert.Equal(t, map[uint32]string{9: "ml"}, accounts)
}

func TestAccountIsNoLongerThanSlurmdbdTakes(t *testing.T) {
	account := accountsOf(accountRow("8", strings.Repeat("ü", 900)))[8]
	assert.LessOrEqual(t, len(account), maxAccount+len("…"))
	assert.True(t, strings.HasSuffix(account, "ü…"))
}

// D1: sbatch accepts --account=$'evil\n8|mallory\n999|x' if Slurm does not check accounts.
func FuzzNoAccountIsAnotherJobs(f *testing.F) {
	seeds(f, ownersTexts...)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "m4rk") {
			t.Skip("an unpredictable mark")
		}
		accounts := accountsOf(accountRow("7", "ml") + accountRow("9", text) + accountRow("8", "physics"))
		require.NotRegexp(t, `[[:cntrl:]|]`, accounts[9])
		delete(accounts, 9)
		require.Equal(t, map[uint32]string{7: "ml", 8: "physics"}, accounts)
	})
}
