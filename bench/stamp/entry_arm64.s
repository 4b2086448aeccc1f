//go:build bench && linux

#include "textflag.h"

// The kernel starts the process here. The stack pointer must not change, because the
// runtime's own entry point needs it.
TEXT ·entry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0-0
	MOVD	$113, R8 // clock_gettime
	MOVD	$7, R0   // CLOCK_BOOTTIME
	MOVD	$·began(SB), R1
	SVC
	B	_rt0_arm64_linux(SB)
