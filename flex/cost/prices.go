package cost

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"slurmflex/config"
)

// Model is how a machine is billed.
type Model string

// The models.
const (
	Flex     Model = "flex"
	Spot     Model = "spot"
	OnDemand Model = "on_demand"
)

// ModelOf is how the machines of such capacity are billed. What a reservation costs
// counts as on demand. Source: Compute's page "VM instance pricing".
func ModelOf(c config.Capacity) Model {
	switch c {
	case config.FlexStart:
		return Flex
	case config.Spot:
		return Spot
	}
	return OnDemand
}

// Prices are those of a price file.
type Prices struct {
	Currency string
	Date     string                        // of the prices, as the file has it
	machines map[string]map[Model]*big.Rat // for a machine and an hour
}

// amount is a price as the file has it.
var amount = regexp.MustCompile(`^\d{1,9}(\.\d{1,9})?$`)

// ParsePrices reads a price file. An error names the line and what is wrong.
func ParsePrices(text []byte) (*Prices, error) {
	var file struct {
		Currency string                          `yaml:"currency"`
		Date     string                          `yaml:"date"`
		Machines map[string]map[string]yaml.Node `yaml:"machines"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if file.Currency == "" || len(file.Machines) == 0 {
		return nil, errors.New("currency or machines is missing; see the example")
	}
	p := &Prices{Currency: file.Currency, Date: file.Date, machines: map[string]map[Model]*big.Rat{}}
	for _, machine := range slices.Sorted(maps.Keys(file.Machines)) {
		p.machines[machine] = map[Model]*big.Rat{}
		for _, model := range slices.Sorted(maps.Keys(file.Machines[machine])) {
			node := file.Machines[machine][model]
			if !slices.Contains([]Model{Flex, Spot, OnDemand}, Model(model)) {
				return nil, fmt.Errorf("line %d: %s of %s: not known; give %s, %s or %s", node.Line, model, machine, Flex, Spot, OnDemand)
			}
			price, ok := new(big.Rat).SetString(node.Value)
			if !ok || !amount.MatchString(node.Value) {
				return nil, fmt.Errorf("line %d: %s of %s: %q is not an amount such as 12.34", node.Line, model, machine, node.Value)
			}
			p.machines[machine][Model(model)] = price
		}
	}
	return p, nil
}

// Hour is the price of a machine of that type for an hour; nil if there is none.
func (p *Prices) Hour(machine string, model Model) *big.Rat { return p.machines[machine][model] }

// hour is an hour in seconds.
const hour = 3600

// Of is what the sum cost. Unpriced are the machine types for which there is no
// price, by their names; what they cost is not in it.
func (p *Prices) Of(s *Sum) (cost *big.Rat, unpriced []string) {
	cost = new(big.Rat)
	s.prices(func(used priced) {
		if !p.add(cost, used.machine, used.model, used.seconds) && !slices.Contains(unpriced, used.machine) {
			unpriced = append(unpriced, used.machine)
		}
	})
	slices.Sort(unpriced)
	return cost, unpriced
}

// As is what the sum would have cost if all of it were billed by that model; nil if
// a price for it is missing.
func (p *Prices) As(s *Sum, model Model) *big.Rat {
	cost, known := new(big.Rat), true
	s.prices(func(used priced) { known = p.add(cost, used.machine, model, used.seconds) && known })
	if !known {
		return nil
	}
	return cost
}

// add adds what a machine type cost, and reports whether there is a price.
func (p *Prices) add(cost *big.Rat, machine string, model Model, seconds int64) bool {
	price := p.Hour(machine, model)
	if price != nil {
		cost.Add(cost, new(big.Rat).Mul(price, big.NewRat(seconds, hour)))
	}
	return price != nil
}
