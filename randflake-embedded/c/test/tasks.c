/* Each two calls on one rf_t and its rf_flash, in each state: the second comes while the first is inside a callback, whichever,
 * and either ends there or stops inside one of its own callbacks until the first has ended. So it is with two tasks that a
 * driver yields to, with an interrupt, and with a callback that calls the library. Only on this machine, whose C library has
 * contexts; the boards interrupt at each instruction instead. */
#include <string.h>
#include <ucontext.h>

#include "suite.h"

#define START (EPOCH + 1000)
#define END (EPOCH + 100000)
#define PAGE 64u
#define NEVER UINT32_MAX
#define STACK 65536

static uint8_t memory[3 * PAGE];
static rf_flash flash;
static rf_t rf;
static rf_config config;
static uint32_t words[RF_RETAINED_WORDS];
static uint32_t uptime;
static uint64_t ids[64];
static uint32_t issued;

/* Two tasks, each with the callback in which it stops. */
static struct task {
    ucontext_t context;
    rf_status (*call)(void);
    rf_status status;
    uint32_t stops_after;
    bool is_stopped, is_stopped_in_call, has_called, is_over;
    char stack[STACK];
} tasks[2];
static ucontext_t outside;
static struct task *current;

/* In each callback, before what it does and after it. */
static void point(void) {
    struct task *self = current;
    if (self == 0 || self->stops_after == NEVER || self->stops_after-- > 0) {
        return;
    }
    struct task *other = self == tasks ? tasks + 1 : tasks;
    self->stops_after = NEVER;
    self->is_stopped = true;
    self->is_stopped_in_call = !self->has_called;
    current = other;
    swapcontext(&self->context, &other->context);
}

static rf_status next(void);

/* The call, and an id of what it left. */
static void task(void) {
    struct task *self = current;
    self->status = self->call();
    self->has_called = true;
    next();
    self->is_over = true;
    struct task *other = self == tasks ? tasks + 1 : tasks;
    current = other->is_over ? 0 : other;
    setcontext(other->is_over ? &outside : &other->context);
}

static int32_t page_read(void *context, uint32_t at, uint8_t *to, uint32_t len) {
    (void)context;
    memcpy(to, memory + at, len);
    point();
    return 0;
}

static int32_t page_program(void *context, uint32_t at, const uint8_t *from, uint32_t len) {
    (void)context;
    point();
    for (uint32_t byte = 0; byte < len; ++byte) {
        memory[at + byte] &= from[byte];
    }
    point();
    return 0;
}

static int32_t page_erase(void *context, uint32_t at) {
    (void)context;
    point();
    memset(memory + at, 0xff, PAGE);
    point();
    return 0;
}

static uint32_t uptime_s(void *user) {
    (void)user;
    point();
    return uptime;
}

static uint32_t read_horizon(void *user) {
    uint32_t horizon = rf_flash_horizon(user);
    point();
    return horizon;
}

static int32_t raise_horizon(void *user, uint32_t unix_s) {
    int32_t failed = rf_flash_raise(user, unix_s);
    point();
    return failed;
}

static rf_status init(void) {
    return rf_init(&rf, &config);
}
static rf_status wake(void) {
    return rf_wake(&rf, &config, words);
}
static rf_status renew(void) {
    return rf_renew(&rf);
}
static rf_status retain(void) {
    return rf_retain(&rf, words);
}
static rf_status next(void) {
    uint64_t id;
    rf_status status = rf_next(&rf, &id);
    if (status == RF_OK) {
        ids[issued++] = id;
    }
    return status;
}
static rf_status set_later(void) {
    return rf_set_clock(&rf, START + 200, UINT32_MAX);
}
static rf_status set_back(void) {
    return rf_set_clock(&rf, 0, 0);
}
static rf_status now(void) {
    uint32_t unix_s = rf_now(&rf);
    EXPECT(unix_s == 0 || (unix_s >= START && unix_s <= END));
    return RF_OK;
}
static rf_status inspect(void) {
    rf_parts parts = rf_inspect(&rf, issued == 0 ? 0 : ids[0]);
    EXPECT(issued == 0 || parts.unix_s == 0 || (parts.node_id == 42 && parts.unix_s >= START));
    return RF_OK;
}
static rf_status provision(void) {
    return rf_provision(&config);
}
static rf_status open_flash(void) {
    return rf_flash_open(&flash);
}
static rf_status erase_ahead(void) {
    return rf_flash_erase_ahead(&flash, 4);
}

/* The first ones claim the rf_t, so that none of them runs beside another. */
#define CLAIMING 4u
static const struct {
    const char *name;
    rf_status (*call)(void);
} CALLS[] = {
    {"init", init},           {"wake", wake},         {"renew", renew},         {"retain", retain},
    {"next", next},           {"set later", set_later}, {"set back", set_back}, {"now", now},
    {"inspect", inspect},     {"provision", provision}, {"open", open_flash},   {"erase ahead", erase_ahead},
};
#define CALL_COUNT (sizeof CALLS / sizeof *CALLS)

static void forget_ram(void) {
    memset(&rf, 0, sizeof rf);
    memset(&flash, 0, sizeof flash);
    flash.page_size = PAGE;
    flash.pages = 3;
    flash.slot_size = 8;
    flash.read = page_read;
    flash.program = page_program;
    flash.erase = page_erase;
    uptime = 0;
}

static void blank(void) {
    static const struct device none;
    current = 0;
    issued = 0;
    memset(memory, 0xff, sizeof memory);
    memset(words, 0, sizeof words);
    forget_ram();
    config = config_of((struct device *)&none, 42, START, END);
    config.uptime_s = uptime_s;
    config.read_horizon = read_horizon;
    config.raise_horizon = raise_horizon;
    config.user = &flash;
    EXPECT(rf_flash_open(&flash) == RF_OK);
}
static void provisioned(void) {
    blank();
    EXPECT(rf_provision(&config) == RF_OK);
}
static void set_up(void) {
    provisioned();
    EXPECT(rf_init(&rf, &config) == RF_OK && rf_set_clock(&rf, 0, 0) == RF_OK);
}
static void has_block(void) {
    set_up();
    EXPECT(rf_renew(&rf) == RF_OK && next() == RF_OK);
}
static void is_used_up_by_half(void) {
    has_block();
    uptime = 40;
    EXPECT(next() == RF_OK);
}
static void is_used_up(void) {
    has_block();
    uptime = 70;
}
static void has_slept(void) {
    has_block();
    uptime = 10;
    EXPECT(next() == RF_OK && rf_retain(&rf, words) == RF_OK);
    forget_ram();
    EXPECT(rf_flash_open(&flash) == RF_OK);
}

static void (*const STATES[])(void) = {
    blank, provisioned, set_up, has_block, is_used_up_by_half, is_used_up, has_slept,
};
#define STATE_COUNT (sizeof STATES / sizeof *STATES)

/* What is issued later, and after a reset, must be new too; and nothing stays claimed. */
static void go_on(void) {
    for (uint32_t turn = 0; turn < 3; ++turn) {
        rf_status status = renew();
        EXPECT(status != RF_BUSY && status != RF_HORIZON_STORE);
        next();
        next();
        uptime += 40;
    }
    EXPECT(rf_flash_erase_ahead(&flash, 4) == RF_OK);
}

static bool is_each_once(void) {
    for (uint32_t at = 1; at < issued; ++at) {
        for (uint32_t other = 0; other < at; ++other) {
            if (ids[at] == ids[other]) {
                return false;
            }
        }
    }
    return true;
}

static struct found {
    uint32_t runs, busy, duplicates;
} found;

/* Both calls; false when the second did not stop, or the first had no such callback. */
static bool run_tasks(uint32_t state, uint32_t first, uint32_t second, uint32_t stop, uint32_t second_stop) {
    STATES[state]();
    for (uint32_t at = 0; at < 2; ++at) {
        struct task *task_at = &tasks[at];
        task_at->call = CALLS[at == 0 ? first : second].call;
        task_at->stops_after = at == 0 ? stop : second_stop;
        task_at->is_stopped = task_at->is_stopped_in_call = task_at->has_called = task_at->is_over = false;
        getcontext(&task_at->context);
        task_at->context.uc_stack.ss_sp = task_at->stack;
        task_at->context.uc_stack.ss_size = STACK;
        makecontext(&task_at->context, task, 0);
    }
    current = tasks;
    swapcontext(&outside, &tasks[0].context);
    bool is_within = tasks[0].is_stopped;
    if (is_within) {
        if (tasks[0].is_stopped_in_call && first < CLAIMING && second < CLAIMING) {
            EXPECT(tasks[1].status == RF_BUSY);
        }
        found.busy += tasks[0].status == RF_BUSY;
        found.busy += tasks[1].status == RF_BUSY;
    }
    go_on();
    forget_ram();
    EXPECT(rf_flash_open(&flash) == RF_OK);
    init();
    set_back();
    go_on();
    found.runs += 1;
    if (!is_each_once() && found.duplicates++ == 0) {
        say(CALLS[second].name);
        say(" inside ");
        say(CALLS[first].name);
        say(" in state ");
        say_number(state);
        say(": ids twice\n");
    }
    return is_within && tasks[1].is_stopped;
}

static bool stops(uint32_t state, uint32_t call, uint32_t stop) {
    run_tasks(state, call, call, stop, NEVER);
    return tasks[0].is_stopped;
}

void tasks_and_callbacks(void) {
    for (uint32_t state = 0; state < STATE_COUNT; ++state) {
        for (uint32_t first = 0; first < CALL_COUNT; ++first) {
            for (uint32_t stop = 0; stops(state, first, stop); ++stop) {
                for (uint32_t second = 0; second < CALL_COUNT; ++second) {
                    run_tasks(state, first, second, stop, NEVER);
                    for (uint32_t other = 0; run_tasks(state, first, second, stop, other); ++other) {
                    }
                }
            }
        }
    }
    say_number(found.runs);
    say(" runs of two calls, ");
    say_number(found.busy);
    say(" refused, ");
    say_number(found.duplicates);
    say(" with duplicates\n");
    EXPECT(found.duplicates == 0 && found.busy > 0);
    test("each_two_calls_in_each_callback");
}
