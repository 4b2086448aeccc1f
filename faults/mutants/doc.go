// Package mutants shows that the fault suite can fail. It is a set of deliberate
// defects, one patch each, of the kind that the suite is there to find:
//
//	make mutants                            all of them
//	make mutants FAULTS_MUTANTS=token       those whose names match
//
// TestMutants applies each to a copy of the tree and runs the commands that must find
// it. A command that passes there shows that the suite is blind to the defect.
//
// A patch begins with a few lines for people: what the defect is. Then come the
// commands that must fail, each with a regular expression for what it must say:
//
//	run: FAULTS_BACKEND=file go test ./faults -run 'TestFaults$' -count 1
//	says: orphan:
//
// What is said is how an oracle words its finding. A command that fails for another
// reason, such as a patch that does not compile, has found nothing. The diff follows.
// It has little context, so that changes nearby leave it valid; TestPatchesApply tells
// when it must be made anew.
package mutants
