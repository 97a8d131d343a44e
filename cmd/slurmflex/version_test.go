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
}

func TestVersionFlagPrintsTheCommandsOutput(t *testing.T) {
	flag := prepare(t, nil, os.Args[0], "--version").exits(exitDone)
	command := prepare(t, nil, os.Args[0], "version").exits(exitDone)
	assert.Equal(t, command.stdout.String(), flag.stdout.String())
}
