// Package mutants shows that the fault suite can fail. It is a set of deliberate
// defects, one patch each, of the kind that the suite must find:
//
//	make fault-mutants                            all of them
//	make fault-mutants FAULTS_MUTANTS=token       those whose names match
//
// TestMutants applies each to a copy of the tree and runs the commands that must find
// it. If a command passes there, the suite does not see the defect.
//
// A patch begins with a few lines that describe the defect. Then come the commands that
// must fail, each with a regular expression for its message:
//
//	run: FAULTS_BACKEND=file go test ./faults -run 'TestFaults$' -count 1
//	says: orphan:
//
// The message is an oracle's finding. A command that fails for another reason, such as a
// patch that does not compile, has found nothing. The diff follows. It has little
// context, so that changes nearby leave it valid; TestPatchesApply fails when it must be
// remade.
package mutants
