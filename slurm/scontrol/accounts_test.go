package scontrol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAccountsAreReadFromSqueue(t *testing.T) {
	c := newClient(t, dummy{Stdout: "812|" + markOfCall + "<ml>" + markOfCall + "\n813|" + markOfCall + "<(null)>" + markOfCall + "\n"})
	accounts, err := c.Accounts(t.Context(), []uint32{812, 813})
	require.NoError(t, err)
	require.Equal(t, map[uint32]string{812: "ml"}, accounts)
	require.Equal(t, []string{"squeue -h -a -o %A|MARK<%a>MARK"}, asked(t, c))
}

func TestUnknownJobHasNoAccount(t *testing.T) {
	c := newClient(t, gone())
	accounts, err := c.Accounts(t.Context(), []uint32{812})
	require.NoError(t, err)
	require.Empty(t, accounts)
	require.Equal(t, []string{"squeue -h -a -o %A|MARK<%a>MARK -j 812"}, asked(t, c))
}
