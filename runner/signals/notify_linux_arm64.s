#include "textflag.h"

// The kernel calls a handler by the conventions of C, with the signal's number, the address of
// its siginfo_t, which begins with that number, and the address of its context. All registers
// are restored afterwards.

// write(pipe, siginfo, 1)
TEXT forwardHandler<>(SB), NOSPLIT|NOFRAME, $0
	MOVW ·pipe(SB), R0
	MOVD $1, R2
	MOVD $64, R8
	SVC
	RET

TEXT dropHandler<>(SB), NOSPLIT|NOFRAME, $0
	RET

GLOBL ·forward(SB), NOPTR, $8
DATA ·forward(SB)/8, $forwardHandler<>(SB)
GLOBL ·drop(SB), NOPTR, $8
DATA ·drop(SB)/8, $dropHandler<>(SB)
