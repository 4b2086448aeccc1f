package guard

// A Tier is a way to keep a job together. There is one here, and nothing to
// choose: what a job starts is in its Job Object, from which nothing gets away.
type Tier string

const jobObject Tier = "job object"

// Tiers returns nil: there is nothing to choose.
func Tiers() []Tier { return nil }

// A Containment says which tier is to be used.
type Containment struct{ Use, Least Tier }

// Best returns the tier that a job is kept together by unless another is asked
// for, and what is in the way of a stronger one.
func Best() (tier Tier, why string) { return jobObject, "" }
