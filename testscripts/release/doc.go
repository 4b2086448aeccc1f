// Package release tests what users download: goreleaser.yaml, and the archives and
// packages that come of it on Linux, for this machine's architecture. They are built
// in copies of the tree, each a repository of its own, and so with what is not
// committed yet. `make snapshot` builds those of all platforms.
package release
