package history

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// bookWorld is a cluster with nodeset a3, and a book of what looks show.
type bookWorld struct {
	*scenetest.World
	book Book[string, int]
}

func newBookWorld() *bookWorld {
	return &bookWorld{World: scenetest.New(scenetest.Cluster("partitions: {train: {partition_nodeset: [a3]}}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8", "")))}
}

// look makes a look that shows objects of a region, a minute after the last. It returns the new ones.
func (w *bookWorld) look(region string, names ...string) (news []string) {
	w.Snap.Now = w.Snap.Now.Add(time.Minute)
	for _, name := range names {
		looks, isNew := w.book.Show(name, region)
		*looks++
		if isNew {
			news = append(news, name)
		}
	}
	w.book.Close(w.Scene(), nil)
	return news
}

// looks returns how many looks have shown an object; 0 if the book has forgotten it.
func (w *bookWorld) looks(name string) int {
	if e := w.book.entries[name]; e != nil {
		return e.record
	}
	return 0
}

func TestFirstLookAtARegionShowsNothingNew(t *testing.T) {
	w := newBookWorld()
	assert.Empty(t, w.look("", "job"))
	w.Snap.Unseen[us] = errors.New("503")
	w.book = Book[string, int]{}
	assert.Empty(t, w.look("", "job"))
	assert.Zero(t, w.book.Last(us))
	delete(w.Snap.Unseen, us)
	assert.Equal(t, []string{"job 2"}, w.look("", "job", "job 2"), "Slurm was read")
	w.book = Book[string, int]{}
	assert.Empty(t, w.look(us, "a"))
	assert.Equal(t, w.Snap.Now, w.book.Last(us))
	assert.Equal(t, []string{"b"}, w.look(us, "a", "b"))
	assert.Empty(t, w.look(us, "a", "b"))
}

func TestObjectIsGoneAfterTwoLooksThatReadItsRegion(t *testing.T) {
	w := newBookWorld()
	w.look(us, "a")
	for range 2 {
		w.look(us)
		w.Snap.Unseen[us] = errors.New("503")
		w.look(us)
		w.look(us)
		delete(w.Snap.Unseen, us)
		assert.Empty(t, w.look(us, "a"), "a list was wrong once")
	}
	assert.Equal(t, 3, w.looks("a"))
	w.look(us)
	w.look(us)
	assert.Zero(t, w.looks("a"))
	assert.Equal(t, []string{"a"}, w.look(us, "a"))
}

func TestObjectIsNotGoneWhileItsRegionIsNotReadAtAll(t *testing.T) {
	w := newBookWorld()
	w.look(us, "a")
	w.look(scenetest.Europe, "b")
	w.look("")
	w.look("")
	assert.Equal(t, 1, w.looks("b"), "no nodeset has the region any more")
	w.Snap.Left = []string{scenetest.Europe}
	w.look("")
	w.look("")
	assert.Zero(t, w.looks("b"))
	assert.Equal(t, w.Snap.Now, w.book.Last(scenetest.Europe))
}

func TestOwnerOfABookMayDecideWhatIsOver(t *testing.T) {
	w := newBookWorld()
	w.look(us, "a", "b")
	w.book.Close(w.Scene(), func(name string, _ *int) bool { return name == "a" })
	w.book.Close(w.Scene(), func(name string, _ *int) bool { return name == "a" })
	assert.Zero(t, w.looks("a"))
	assert.Equal(t, 1, w.looks("b"))
}

func TestNodeIsRegisteredWhileItsSlurmdAnswers(t *testing.T) {
	for state, want := range map[string]bool{
		scenetest.Idle: true, scenetest.Busy: true, "MIXED+CLOUD+DRAIN": true, "IDLE+CLOUD+NOT_RESPONDING": false,
		scenetest.PoweringUp: false, "IDLE+CLOUD+POWERING_DOWN": false, "DOWN+CLOUD": false,
	} {
		assert.Equal(t, want, Registered(slurm.ParseState(state)), state)
	}
}
