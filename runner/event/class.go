package event

// Reasons are for people. For those who count events or decide by them, each reason
// comes with a class, which is one of these few words.
const (
	ClassSignal      = "signal"      // we were sent one
	ClassRuntime     = "runtime"     // --max-runtime is over
	ClassResigned    = "resigned"    // the lock is given up on purpose
	ClassUnguarded   = "unguarded"   // the job's guard has died, or does not answer
	ClassExpired     = "expired"     // no renewal was acknowledged in time
	ClassTimeout     = "timeout"     // there was no answer in time
	ClassUnavailable = "unavailable" // the backend could not be reached
	ClassDenied      = "denied"      // the backend denied permission
	ClassLost        = "lost"        // the lock is somebody else's, or its session gone
	ClassHeld        = "held"        // somebody else holds the lock
	ClassLeftovers   = "leftovers"   // of a job whose first process has ended
	ClassElected     = "elected"     // the wait during which a hook ran is over
	ClassSucceeded   = "succeeded"   // the job exited with 0
	ClassFailed      = "failed"      // the job did not
	ClassError       = "error"       // none of these
)
