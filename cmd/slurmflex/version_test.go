package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionNamesItsSources(t *testing.T) {
	r := prepare(t, nil, os.Args[0], "version").exits(exitDone)
	assert.Regexp(t, `^slurmflex \S+
commit    \S.*
date      \S+
go        go1\.\d\S* \w+/\w+
compute   cloud\.google\.com/go/compute v1\.\d+\.\d+
$`, r.stdout.String())
	assert.Equal(t, r.stdout.String(), prepare(t, nil, os.Args[0], "--version").exits(exitDone).stdout.String())
}
