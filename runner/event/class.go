package event

// Reasons are for people. Each reason has a class, one of these few words, for programs
// that count events or act on them.
const (
	ClassSignal      = "signal"      // leaderrun received one
	ClassRuntime     = "runtime"     // --max-runtime is over
	ClassResigned    = "resigned"    // we resigned
	ClassTasks       = "tasks"       // the machine is out of tasks: nothing was started
	ClassUnguarded   = "unguarded"   // the job's guard has died, or does not answer
	ClassExpired     = "expired"     // no renewal was acknowledged in time
	ClassTimeout     = "timeout"     // there was no answer in time
	ClassUnavailable = "unavailable" // the backend could not be reached
	ClassDenied      = "denied"      // the backend denied permission
	ClassLost        = "lost"        // the lock is somebody else's, or its session has gone
	ClassDone        = "done"        // the job has already run in its window
	ClassUnhealthy   = "unhealthy"   // its health checks fail
	ClassHeld        = "held"        // somebody else holds the lock
	ClassLeftovers   = "leftovers"   // processes are left after the first one has ended
	ClassElected     = "elected"     // the campaign during which a hook ran has ended
	ClassSucceeded   = "succeeded"   // the job exited with 0
	ClassFailed      = "failed"      // the job exited with something else
	ClassError       = "error"       // none of these
)
