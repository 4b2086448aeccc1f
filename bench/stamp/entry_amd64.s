//go:build bench && linux

#include "textflag.h"

// The kernel starts the process here. The stack pointer must not change, because the
// runtime's own entry point needs it.
TEXT ·entry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0-0
	MOVQ	$228, AX // clock_gettime
	MOVQ	$7, DI   // CLOCK_BOOTTIME
	LEAQ	·began(SB), SI
	SYSCALL
	JMP	_rt0_amd64_linux(SB)
