/* Says what `cargo test` would say. */
#ifndef SUITE_H
#define SUITE_H

#include <stdbool.h>
#include <stdint.h>

#include "randflake.h"

/* A step of a test: the first that does not hold fails it, and is said by its line. */
#define EXPECT(holds) expect((holds), __LINE__)

void expect(bool holds, uint32_t line);
/* Ends a test. */
void test(const char *name);
_Noreturn void finish(void);

void say_number(uint32_t number);
bool same(const char *one, const char *other);

/* The board's. */
void say(const char *text);
_Noreturn void leave(bool failed);

/* The tests. */
void calls(void);
void vectors(void);
void tickets(void);
void raw_flash(uint32_t seeds);
void threads(void);
void tasks_and_callbacks(void);

/* A device that is emulated in variables. */
struct device {
    uint32_t uptime_s;
    uint32_t horizon;
    /* How often the horizon was raised. */
    uint32_t raised;
    bool fails;
    bool forgets;
    /* Called in the midst of the next call that reads the time. */
    void (*in_the_midst)(void);
};

#define EPOCH 1730000000u

/* Of grants and tickets: those of the other form are refused. */
#ifdef RF_BITS53
#define LEASE_VERSION 2
#else
#define LEASE_VERSION 1
#endif

rf_config config_of(struct device *device, uint32_t node_id, uint32_t start_unix_s, uint32_t end_unix_s);

#endif
