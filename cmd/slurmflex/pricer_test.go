package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/config"
	"slurmflex/flex/view"
)

func TestANodesetHasThePriceThatThePriceFileHasNow(t *testing.T) {
	w := newWorld(t)
	core, log := observer.New(zap.WarnLevel)
	p := &pricer{path: w.path("prices.yaml"), log: zap.New(core)}
	price := func() *view.Price {
		v := view.View{NodeSets: []view.NodeSet{{Name: "a3", Capacity: config.FlexStart, Machine: "a3-highgpu-8g"}, {Name: "g2", Capacity: config.FlexStart, Machine: "g2-standard-4"}}}
		p.fill(&v)
		assert.Nil(t, v.NodeSets[1].Price, "the file has none")
		return v.NodeSets[0].Price
	}
	write := func(text string, age time.Duration) {
		w.write(t, "prices.yaml", text)
		require.NoError(t, os.Chmod(w.path("prices.yaml"), 0o644))
		require.NoError(t, os.Chtimes(w.path("prices.yaml"), time.Time{}, time.Now().Add(-age)))
	}
	assert.Nil(t, price(), "there is no file")
	write("currency: USD\nmachines: {a3-highgpu-8g: {flex: 40.5, on_demand: 80}}\n", 3*time.Hour)
	assert.Equal(t, &view.Price{Hour: 40.5, Currency: "USD"}, price())
	write("currency: EUR\nmachines: {a3-highgpu-8g: {flex: 41}}\n", 2*time.Hour)
	assert.Equal(t, &view.Price{Hour: 41, Currency: "EUR"}, price())
	require.NoError(t, os.Chmod(w.path("prices.yaml"), 0o640))
	assert.Nil(t, price(), "not all users may read the file")
	write("currency: EUR\nmachines: {a3-highgpu-8g: {flex: dear}}\n", time.Hour)
	assert.Nil(t, price())
	assert.Nil(t, price())
	assert.Equal(t, 1, log.FilterMessage("no prices are shown; correct the price file").Len())
}
