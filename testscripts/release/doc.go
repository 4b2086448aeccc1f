// Package release tests what users download: goreleaser.yaml, and the archives and
// packages that it produces on Linux, for this machine's architecture. They are built in
// copies of the tree, each its own repository, so they include changes that are not
// committed yet. `make snapshot` builds those of all platforms.
//
// With LEADERRUN_TEST_LONG=1, as in `make test-long`, a release is built. Otherwise only
// goreleaser.yaml is checked.
package release
