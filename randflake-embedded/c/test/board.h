/* What differs between machines. */
#ifndef BOARD_H
#define BOARD_H

#include "suite.h"

/* Calls `interrupt` once, after so many ticks of the timer. */
void interrupt_after(uint32_t ticks);

/* The sweep's, with the address of the instruction that the interrupt came before. */
void interrupt(uintptr_t address);

/* Makes a call, and another one in an interrupt after so many ticks; returns whether it came before the first was over. */
bool interrupted(rf_status (*call)(uint64_t *id), uint64_t *id, rf_status *status, rf_status (*in_interrupt)(uint64_t *id),
                 uint64_t *other_id, rf_status *other_status, uint32_t delay);

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
void pairs(void);

#endif
