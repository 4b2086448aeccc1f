package gcs

import (
	"slices"
	"strings"

	"cloud.google.com/go/storage"

	"github.com/leaderrun/leaderrun/locks"
)

// neededPermissions returns those that a run needs, and the one for forgetting a lock.
func neededPermissions() []string {
	return []string{"storage.objects.create", "storage.objects.get", "storage.objects.list", "storage.objects.update", "storage.objects.delete"}
}

// permissions reports which permissions the account lacks on the bucket. It may have them
// on the prefix instead, which the service does not say; but then it could read the lock's
// object.
func (p *probe) permissions(has []string) {
	const fix = "grant the account the role roles/storage.objectUser on the bucket"
	lacks := slices.DeleteFunc(neededPermissions(), func(one string) bool { return slices.Contains(has, one) })
	text := "missing on the bucket: " + strings.Join(lacks, ", ")
	switch {
	case len(lacks) == 0:
		p.Find("permissions", locks.LevelOK, "", "")
	case slices.Equal(lacks, []string{"storage.objects.delete"}):
		p.Find("permissions", locks.LevelWarning, text+"; only forgetting a lock needs it", fix)
	case slices.Contains(lacks, "storage.objects.get"):
		p.Find("permissions", locks.LevelWarning, text+"; but objects can be read, so they may have been granted on the prefix", fix+", or on the prefix as a managed folder")
	default:
		p.Find("permissions", locks.LevelError, text, fix)
	}
}

// bucket reports settings of the bucket that delete or keep objects, or change their price.
func (p *probe) bucket(a *storage.BucketAttrs) {
	access := "access by objects"
	if a.UniformBucketLevelAccess.Enabled {
		access = "uniform access"
	}
	p.Find("bucket", locks.LevelOK, strings.Join(slices.DeleteFunc([]string{a.Location, a.StorageClass, access}, func(s string) bool { return s == "" }), ", "), "")
	if a.VersioningEnabled {
		p.Find("versioning", locks.LevelOK, "on: a forgotten lock is kept as an old version; renewals make no versions", "")
	}
	if a.RetentionPolicy != nil {
		p.Find("retention", locks.LevelWarning, "objects cannot be deleted for "+a.RetentionPolicy.RetentionPeriod.String()+", so no lock can be forgotten; renewals are allowed", "use a bucket without a retention policy, or ignore this if no lock will be forgotten")
	}
	if a.SoftDeletePolicy != nil && a.SoftDeletePolicy.RetentionDuration > 0 {
		p.Find("soft deletion", locks.LevelOK, "a forgotten lock is kept and paid for "+a.SoftDeletePolicy.RetentionDuration.String()+" more; renewals cost no more", "")
	}
	if cold(a.StorageClass) {
		p.Find("storage class", locks.LevelOK, "the bucket's default is "+a.StorageClass+"; objects of locks are created in "+storageClass+", where renewals cost less", "")
	}
}

// lifecycle reports rules that delete our objects, or move them to a cold class.
func (p *probe) lifecycle(rules []lifecycleRule) {
	const fix = "use a bucket without such rules, or limit them to other prefixes"
	classes := p.store.settings.classes(rules)
	if len(classes) > 0 {
		p.Find("storage class", locks.LevelWarning, "a rule moves objects of the prefix to "+strings.Join(classes, " or ")+", where each renewal and each look costs several times as much", fix)
	}
	var worst reach
	var which lifecycleRule
	for _, r := range rules {
		if got := p.store.settings.reaches(r, classes); r.Action.Type == "Delete" && got > worst {
			worst, which = got, r
		}
	}
	switch worst {
	case certain:
		p.Find("lifecycle", locks.LevelError, "the rule "+which.String()+" deletes objects of the prefix, even those of held locks: it counts from their creation, not from the last renewal", fix)
	case unclear:
		p.Find("lifecycle", locks.LevelWarning, "the rule "+which.String()+" may delete objects of some locks, even while they are held", "make sure that no lock's object meets the conditions, or limit the rule to other prefixes")
	}
}
