package cost

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/config"
	"slurmflex/flex/view"
)

func TestNodesetPriceFollowsThePriceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	core, log := observer.New(zap.WarnLevel)
	p := &Shown{Path: path, Log: zap.New(core)}
	price := func() *view.Price {
		v := view.View{NodeSets: []view.NodeSet{{Name: "a3", Capacity: config.FlexStart, Machine: "a3-highgpu-8g"}, {Name: "g2", Capacity: config.FlexStart, Machine: "g2-standard-4"}}}
		p.Fill(&v)
		assert.Nil(t, v.NodeSets[1].Price, "the file lacks the price")
		return v.NodeSets[0].Price
	}
	write := func(text string, age time.Duration) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, 0o644))
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	assert.Nil(t, price(), "the file is missing")
	write("currency: USD\nmachines: {a3-highgpu-8g: {flex: 40.5, on_demand: 80}}\n", 3*time.Hour)
	assert.Equal(t, &view.Price{Hour: 40.5, Currency: "USD"}, price())
	write("currency: EUR\nmachines: {a3-highgpu-8g: {flex: 41}}\n", 2*time.Hour)
	assert.Equal(t, &view.Price{Hour: 41, Currency: "EUR"}, price())
	require.NoError(t, os.Chmod(path, 0o640))
	assert.Nil(t, price(), "not all users may read the file")
	write("currency: EUR\nmachines: {a3-highgpu-8g: {flex: dear}}\n", time.Hour)
	assert.Nil(t, price())
	assert.Nil(t, price())
	assert.Equal(t, 1, log.FilterMessage("no prices are shown; correct the price file").Len())
}
