/* What differs between machines. */
#ifndef BOARD_H
#define BOARD_H

#include "suite.h"

/* Calls `interrupt` once, after so many ticks of the timer. */
void interrupt_after(uint32_t ticks);

/* The sweep's, with the address of the instruction that the interrupt came before. */
void interrupt(uintptr_t address);

/* A request to the emulator. */
uint32_t semihosting(uint32_t operation, const void *argument);

/* Variables in `.noinit` keep their value. */
_Noreturn void reset(void);

#define NOINIT __attribute__((section(".noinit")))

/* Called when memory is set up. */
_Noreturn void run(void);

/* The tests that need a board. */
void resets(void);
void preemption(void);

#endif
