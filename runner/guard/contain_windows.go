package guard

// A Tier is a way to contain a job. Windows has only one: all processes that a job starts are
// in its Job Object, and cannot leave it.
type Tier string

const jobObject Tier = "job object"

// Tiers returns nil: there is nothing to choose.
func Tiers() []Tier { return nil }

// A Containment says which tier to use.
type Containment struct{ Use, Least Tier }

// Best returns the tier by which a job is contained, and why no stronger one is.
func Best() (tier Tier, why string) { return jobObject, "" }
