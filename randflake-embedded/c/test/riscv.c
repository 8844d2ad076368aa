/* QEMU's `virt`: the timer is the CLINT's, which counts 100 ns. */
#include "board.h"

#define MTIMECMP (*(volatile uint64_t *)0x02004000)
#define MTIME (*(volatile uint32_t *)0x0200bff8)
#define MTIME_HIGH (*(volatile uint32_t *)0x0200bffc)
#define TEST_DEVICE (*(volatile uint32_t *)0x100000)

extern uint32_t bss_start[], bss_end[];

uint32_t semihosting(uint32_t operation, const void *argument) {
    register uint32_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n"
                     ".option push\n"
                     ".option norvc\n"
                     "slli x0, x0, 0x1f\n"
                     "ebreak\n"
                     "srai x0, x0, 7\n"
                     ".option pop\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

/* Not after an interrupt was asked for: under `sleep=off` QEMU 7.2 would wait for it in the midst of the reset. */
_Noreturn void reset(void) {
    TEST_DEVICE = 0x7777;
    for (;;) {
    }
}

__attribute__((noinline)) void interrupt_after(uint32_t ticks) {
    uint32_t high, low;
    do {
        high = MTIME_HIGH;
        low = MTIME;
    } while (high != MTIME_HIGH);
    /* It was the highest time, so neither half alone is one that has come. */
    MTIMECMP = ((uint64_t)high << 32 | low) + ticks;
    __asm__ volatile("csrs mie, %0\n"
                     "csrsi mstatus, 8" ::"r"(1u << 7)
                     : "memory");
}

__attribute__((interrupt("machine"), aligned(4))) static void trap(void) {
    uint32_t cause, address;
    __asm__ volatile("csrr %0, mcause\n"
                     "csrr %1, mepc"
                     : "=r"(cause), "=r"(address));
    if (cause != 0x80000007) {
        say("fault\n");
        leave(true);
    }
    MTIMECMP = UINT64_MAX;
    interrupt(address);
}

__attribute__((used)) static void start_c(void) {
    for (uint32_t *to = bss_start; to < bss_end; ++to) {
        *(volatile uint32_t *)to = 0;
    }
    __asm__ volatile("csrw mtvec, %0" ::"r"(trap));
    run();
}

__attribute__((naked, section(".vectors"), used)) void start(void) {
    __asm__ volatile("la sp, stack_top\n"
                     "j start_c");
}
