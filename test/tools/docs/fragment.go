package main

import (
	"fmt"
	"maps"
	"os"

	"go.yaml.in/yaml/v3"

	"slurmflex/config"
	"slurmflex/test/must"
)

// configPath is the path of a page's configuration.
const configPath = "/etc/slurmflex/config.yaml"

// model is the nodeset that supplies missing keys to new nodesets of a fragment.
const model = "a3"

// load checks that a fragment of config.yaml loads as part of the page's configuration.
func (r *run) load(b block) {
	if r.setting.bare {
		r.problem(b.line, "a part of config.yaml on a page without a cluster; name a file")
		return
	}
	err := must.Try(func() {
		text := merge(must.Get(os.ReadFile(r.cluster.Config())), []byte(r.own(b.text)))
		must.Get(config.Parse(fmt.Sprintf("%s:%d", r.page.path, b.line), text))
	})
	if err != nil {
		r.problem(b.line, "does not load: %v", err)
	}
}

// ownConfig completes a page's own configuration, which must load by itself, with the
// addresses and folders of the cluster.
func (r *run) ownConfig(text string) string {
	must.Get(config.Parse(configPath, []byte(text)))
	base := must.Get(os.ReadFile(r.cluster.Config()))
	var old map[string]any
	must.Do(yaml.Unmarshal(base, &old))
	program, _ := old["slurmflex"].(map[string]any)
	own := map[string]any{}
	for _, key := range []string{"compute_endpoint", "run_dir", "state_dir", "http_address", "interval", "log_file"} {
		own[key] = program[key]
	}
	over := must.Get(yaml.Marshal(map[string]any{"slurmflex": own}))
	return string(merge(merge(base, []byte(text)), over))
}

// merge puts the keys of one YAML text over those of another.
func merge(base, over []byte) []byte {
	var below, above map[string]any
	must.Do(yaml.Unmarshal(base, &below))
	must.Do(yaml.Unmarshal(over, &above))
	complete(below, above)
	return must.Get(yaml.Marshal(put(below, above)))
}

// complete adds the model's keys to each new nodeset. It omits dws_flex if the nodeset names
// other capacity.
func complete(below, above map[string]any) {
	known, _ := below["nodeset"].(map[string]any)
	more, _ := above["nodeset"].(map[string]any)
	like, _ := known[model].(map[string]any)
	for name, keys := range more {
		given, isMap := keys.(map[string]any)
		if _, there := known[name]; there || !isMap {
			continue
		}
		all := put(maps.Clone(like), given)
		if _, other := given["capacity"]; other {
			delete(all, "dws_flex")
		}
		all["nodeset_name"] = name
		more[name] = all
	}
}

// put writes the keys of above over those of below. It merges mappings that both have.
func put(below, above map[string]any) map[string]any {
	if below == nil {
		below = make(map[string]any)
	}
	for key, value := range above {
		inner, isMap := value.(map[string]any)
		if isMap {
			under, _ := below[key].(map[string]any)
			value = put(maps.Clone(under), inner)
		}
		below[key] = value
	}
	return below
}
