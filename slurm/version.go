package slurm

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// Version is a version of Slurm: year, month, release.
type Version struct{ Major, Minor, Patch int }

var versionForm = regexp.MustCompile(`^(?:slurm(?:-\w+)? )?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[-~+.]\S*)?\s*$`)

// ParseVersion parses the output of scontrol -V ("slurm 22.05.8", "slurm-wlm 24.11.5") or the value
// of SLURM_VERSION ("22.05.8", "25.05.0-0rc1").
func ParseVersion(text string) (Version, error) {
	fields := versionForm.FindStringSubmatch(text)
	if fields == nil {
		return Version{}, fmt.Errorf("version %s: not like slurm 22.05.8", quote(text))
	}
	var numbers [3]int
	for i, digits := range fields[1:] {
		numbers[i], _ = strconv.Atoi("0" + digits) // versionForm allows only digits
	}
	return Version{Major: numbers[0], Minor: numbers[1], Patch: numbers[2]}, nil
}

// AtLeast reports whether the version is major.minor or later.
func (v Version) AtLeast(major, minor int) bool {
	return cmp.Or(cmp.Compare(v.Major, major), cmp.Compare(v.Minor, minor)) >= 0
}

// String returns the version in Slurm's form: 22.05.8.
func (v Version) String() string { return fmt.Sprintf("%d.%02d.%d", v.Major, v.Minor, v.Patch) }
