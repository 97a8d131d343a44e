// Package config reads the configuration file. The file has the keys of slurm-gcp's config.yaml, so
// that the file of an existing cluster loads unchanged, and the sections dws_flex and slurmflex.
// Parse reports all problems of a file together, each with its line and its fix. A loaded Config
// does no I/O, and any number of goroutines may read it.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"slurmflex/config/regular"
)

// MaxSize is the maximum size of a configuration file in bytes: about a hundred times the file of a
// large cluster.
const MaxSize = 4 << 20

// Config is a configuration that has been checked.
type Config struct {
	// Cluster is the first part of every node name and group name.
	Cluster string `key:"slurm_cluster_name" form:"cluster" reload:"restart" required:"true" doc:"ClusterName of slurm.conf; node and group names start with it. A letter, then lower-case letters, digits, dashes; at most 38 characters."`
	Project string `key:"project" form:"project" reload:"restart" required:"true" doc:"Project of the machines."`
	// SlurmBinDir may be empty.
	SlurmBinDir string `key:"slurm_bin_dir" form:"path" reload:"restart" doc:"Directory of scontrol and squeue; if not set, /usr/bin, then /usr/local/bin."`
	// CredentialsFile may be empty.
	CredentialsFile string `key:"google_app_cred_path" form:"path" reload:"restart" doc:"Key file, instead of Application Default Credentials."`

	Partitions []Partition `key:"partitions" doc:"Partitions by their names."` // sorted by name
	NodeSets   []*NodeSet  `key:"nodeset" doc:"Nodesets by their names."`      // all, sorted by name, which is unique
	_          struct{}    `key:"nodeset_dyn" values:"mapping" doc:"Of slurm-gcp. slurmflex reads only names and node counts."`
	_          struct{}    `key:"nodeset_tpu" values:"mapping" doc:"Of slurm-gcp. slurmflex reads only names and node counts."`
	Options    Options     `key:"slurmflex" doc:"Keys of slurmflex itself."`
	// Ignored are the paths of keys outside slurmflex's own sections that slurmflex does not read, such
	// as nodeset.a3.network_storage, and those of nodesets that it does not provision. Of such a nodeset,
	// only the name and the size are read.
	Ignored []string `key:"-"`

	file string     // the name of the file
	root *yaml.Node // the content of the file
}

// Load reads and checks the file at path. Its errors name the path. Errors in the content are
// Problems. Load refuses a file that users other than its owner can write. It also refuses a file
// that names a file of credentials or a token that other users can read or write. Anyone who can change these
// files decides what runs as SlurmUser. Load refuses a file without a newline at its end, because
// it may be truncated.
func Load(path string) (*Config, error) {
	data, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if cut := cutOff(path, data); cut != nil {
		return nil, cut
	}
	c, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	if err := CheckSecret(c.CredentialsFile); err != nil {
		return nil, fmt.Errorf("%s: credentials file: %w", path, err)
	}
	for _, region := range c.Options.Regions {
		if err := CheckSecret(region.TokenFile); err != nil {
			return nil, fmt.Errorf("%s: token file of region %s: %w", path, region.Name, err)
		}
	}
	return c, nil
}

// cutOff returns a problem if the last line of a file lacks a newline. Such a file may be
// truncated, and its beginning may be a valid configuration with other values or fewer nodesets.
func cutOff(path string, data []byte) error {
	if len(data) == 0 || len(data) > MaxSize || !utf8.Valid(data) || bytes.HasSuffix(data, []byte("\n")) {
		return nil
	}
	return Problems{{
		File: path, Line: 1 + bytes.Count(data, []byte("\n")),
		Text: "the file ends without a newline, so it may be cut off; write all of it, with a newline at the end",
	}}
}

// read reads the file. It stops one byte after MaxSize, which is enough for Parse to refuse the
// content.
func read(path string) ([]byte, error) {
	f, err := regular.Open(path, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; create the file or use another path", err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w; let this user read it", err)
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if err := checkFile(f); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%w; use a readable file", err)
	}
	return data, nil
}

// Parse checks the content of a configuration file. name stands for the file in messages. An error
// is of type Problems and lists all of them.
func Parse(name string, data []byte) (*Config, error) {
	r := &reader{file: name, faulty: make(map[string]bool), places: places(), left: maxEntries}
	var c *Config
	if root := r.document(data); root != nil {
		c = r.config(root)
		c.file, c.root = name, r.root
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	return c, nil
}

func (r *reader) config(root *section) *Config {
	c := &Config{}
	root.read(c, only("slurm_cluster_name", "project", "slurm_bin_dir", "google_app_cred_path"))
	c.NodeSets = readNodeSets(root, c.Cluster)
	c.Partitions = readPartitions(root, c.NodeSets)
	c.Options = readOptions(root.section("slurmflex"), c.CredentialsFile)
	for _, set := range c.FlexSets() {
		if c.Options.HasEndpoint(set.Region) && strings.Contains(set.Template, "global/") {
			r.problem(set.Line, "nodeset."+set.Name+".instance_template", "is a global template, which the endpoint of region %s does not have; use projects/PROJECT/regions/%[1]s/instanceTemplates/NAME", set.Region)
		}
	}
	for _, l := range c.Options.Limits {
		if _, known := c.Partition(l.Partition); l.Partition != "" && !known {
			r.problem(l.Line, "slurmflex.limits."+l.Name+".partition", "unknown partition %s; define it or remove it", quote(l.Partition))
		}
	}
	c.Ignored = slices.Concat(r.ignored, root.ignore())
	return c
}

// places maps each key of slurmflex to its section. It omits enabled, because a later release of
// slurm-gcp may use that name for anything.
func places() map[string]string {
	places := map[string]string{"capacity": "a nodeset without dws_flex"}
	for _, part := range []struct {
		place   string
		of      any
		selects func(field) bool
	}{
		{"dws_flex of a nodeset without capacity", Flex{}, inFlexBlock},
		{"slurmflex", Options{}, all},
		{"slurmflex.delegate", Delegate{}, all},
		{"a region of slurmflex.regions", Region{}, all},
	} {
		for _, f := range fieldsOf(reflect.TypeOf(part.of)) {
			if part.selects(f) {
				places[f.key] = part.place
				if f.was != "" {
					places[f.was] = part.place
				}
			}
		}
	}
	return places
}

// Find returns the nodeset of a node, whether slurmflex provisions it or not, and the node's index
// in it. It accepts only the exact name of an existing node: {cluster}-{nodeset}-{index}, with the
// index without leading zeros.
func (c *Config) Find(node string) (ns *NodeSet, index int, ok bool) {
	rest, ok := strings.CutPrefix(node, c.Cluster)
	dash := strings.LastIndexByte(rest, '-')
	if !ok || dash < 1 || rest[0] != '-' {
		return nil, 0, false
	}
	at, ok := slices.BinarySearchFunc(c.NodeSets, rest[1:dash], func(ns *NodeSet, name string) int {
		return cmp.Compare(ns.Name, name)
	})
	if !ok {
		return nil, 0, false
	}
	ns, digits := c.NodeSets[at], rest[dash+1:]
	index, err := strconv.Atoi(digits)
	if err != nil || digits[0] < '0' || digits[0] == '0' && digits != "0" || index >= ns.Size() {
		return nil, 0, false
	}
	return ns, index, true
}

// FlexSets returns the nodesets that slurmflex provisions, sorted by name.
func (c *Config) FlexSets() []*NodeSet {
	var sets []*NodeSet
	for _, ns := range c.NodeSets {
		if ns.Flex != nil {
			sets = append(sets, ns)
		}
	}
	return sets
}

// FlexSetOf returns the nodeset of a node if slurmflex provisions it, and nil otherwise.
func (c *Config) FlexSetOf(node string) *NodeSet {
	if ns, _, ok := c.Find(node); ok && ns.Flex != nil {
		return ns
	}
	return nil
}

// FlexSet returns the nodeset of that name if slurmflex provisions it, otherwise nil.
func (c *Config) FlexSet(name string) *NodeSet {
	for _, ns := range c.FlexSets() {
		if ns.Name == name {
			return ns
		}
	}
	return nil
}

// NeedFlexSet is like FlexSet, but returns an error that names the nodesets to choose from.
func (c *Config) NeedFlexSet(name string) (*NodeSet, error) {
	if ns := c.FlexSet(name); ns != nil {
		return ns, nil
	}
	var names []string
	for _, ns := range c.FlexSets() {
		names = append(names, ns.Name)
	}
	return nil, UnknownFlexSet(name, names)
}

// UnknownFlexSet returns the error for a nodeset that slurmflex does not provision; known names those
// that it does.
func UnknownFlexSet(name string, known []string) error {
	return fmt.Errorf("unknown flex-start nodeset %q; choose one of: %s", name, strings.Join(known, ", "))
}

// FlexRegions returns the regions of the nodesets that slurmflex provisions, sorted.
func (c *Config) FlexRegions() []string {
	var regions []string
	for _, ns := range c.FlexSets() {
		regions = append(regions, ns.Region)
	}
	slices.Sort(regions)
	return slices.Compact(regions)
}

// Partition returns the partition of that name.
func (c *Config) Partition(name string) (*Partition, bool) {
	at, ok := slices.BinarySearchFunc(c.Partitions, name, func(p Partition, name string) int {
		return cmp.Compare(p.Name, name)
	})
	if !ok {
		return nil, false
	}
	return &c.Partitions[at], true
}

// Exclusive reports whether the partition exists and gives whole nodes to one job at a time.
func (c *Config) Exclusive(partition string) bool {
	p, ok := c.Partition(partition)
	return ok && p.Exclusive
}
