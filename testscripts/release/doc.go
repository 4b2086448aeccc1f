// Package release tests what users download: goreleaser.yaml, and the archives and
// packages that come of it on Linux, for this machine's architecture. They are built
// in copies of the tree, each a repository of its own, and so with what is not
// committed yet. `make snapshot` builds those of all platforms.
//
// With LEADERRUN_TEST_LONG=1, as in `make test-long`, a release is built. Without, only
// what goreleaser.yaml says is looked at.
package release
