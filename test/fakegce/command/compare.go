package command

import (
	"fmt"
	"io"
	"os"

	"slurmflex/test/fakegce/compare"
)

// compareWith compares the fake with the transcript in a file. It returns an error if they
// differ.
func compareWith(out io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return usageError{fmt.Errorf("--compare: %w", err)}
	}
	defer file.Close()
	header, exchanges, err := compare.Read(file)
	if err != nil {
		return usageError{fmt.Errorf("--compare %s: %w", path, err)}
	}
	n, err := compare.Run(out, header, exchanges)
	if err != nil {
		return fmt.Errorf("--compare %s: %w", path, err)
	}
	if n > 0 {
		return fmt.Errorf("--compare %s: the fake differs", path)
	}
	return nil
}
