package slurm_test

import (
	"fmt"

	"slurmflex/slurm"
)

func ExampleExpand() {
	names, err := slurm.Expand("alpha-a3-[08-10],alpha-login")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range names {
		fmt.Println(name)
	}
	// Output:
	// alpha-a3-08
	// alpha-a3-09
	// alpha-a3-10
	// alpha-login
}

func ExampleExpand_malformed() {
	_, err := slurm.Expand("alpha-a3-[0-")
	fmt.Println(err)
	// Output:
	// hostlist "alpha-a3-[0-": a number is missing at character 13
}

func ExampleFold() {
	fmt.Println(slurm.Fold([]string{"alpha-a3-10", "alpha-a3-2", "alpha-a3-9", "alpha-login", "alpha-a3-2"}))
	// Output:
	// alpha-a3-[2,9-10],alpha-login
}
