/* Cortex-M under QEMU: the timer is SysTick, which counts the processor's clock. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYST_CSR REGISTER(0xe000e010)
#define SYST_RVR REGISTER(0xe000e014)
#define SYST_CVR REGISTER(0xe000e018)
#define AIRCR REGISTER(0xe000ed0c)

extern uint32_t bss_start[], bss_end[], data_start[], data_end[], data_load[], stack_top[];

uint32_t semihosting(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

_Noreturn void reset(void) {
    AIRCR = 0x05fa0004;
    for (;;) {
    }
}

__attribute__((noinline)) void interrupt_after(uint32_t ticks) {
    SYST_CSR = 0;
    SYST_RVR = ticks;
    SYST_CVR = 0;
    SYST_CSR = 7;
}

__attribute__((used)) static void timer(uintptr_t address) {
    SYST_CSR = 0;
    interrupt(address);
}

/* The processor has put on the stack where the program was. */
__attribute__((naked)) static void systick(void) {
    __asm__ volatile("mrs r0, msp\n"
                     "ldr r0, [r0, #24]\n"
                     "ldr r1, 1f\n"
                     "bx r1\n"
                     ".balign 4\n"
                     "1: .word timer\n");
}

static void fault(void) {
    say("fault\n");
    leave(true);
}

void start(void);

void start(void) {
    for (uint32_t *to = bss_start; to < bss_end; ++to) {
        *(volatile uint32_t *)to = 0;
    }
    for (uint32_t *to = data_start, *from = data_load; to < data_end; ++to, ++from) {
        *(volatile uint32_t *)to = *from;
    }
    run();
}

__attribute__((section(".vectors"), used)) static void (*const vector_table[16])(void) = {
    [0] = (void (*)(void))stack_top,
    [1] = start,
    [2] = fault,
    [3] = fault,
    [15] = systick,
};
