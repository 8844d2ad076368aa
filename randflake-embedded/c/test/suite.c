#include "suite.h"

static uint32_t passed, failed, failed_line;

void expect(bool holds, uint32_t line) {
    if (!holds && failed_line == 0) {
        failed_line = line;
    }
}

void test(const char *name) {
    if (failed_line != 0) {
        say("line ");
        say_number(failed_line);
        say("\n");
    }
    say("test ");
    say(name);
    say(failed_line == 0 ? " ... ok\n" : " ... FAILED\n");
    *(failed_line == 0 ? &passed : &failed) += 1;
    failed_line = 0;
}

_Noreturn void finish(void) {
    say(failed == 0 ? "test result: ok. " : "test result: FAILED. ");
    say_number(passed);
    say(" passed; ");
    say_number(failed);
    say(" failed; 0 ignored\n");
    leave(failed != 0);
}

/* Without a division: a Cortex-M0 has none, and no C library is linked. */
void say_number(uint32_t number) {
    static const uint32_t POWERS[] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    char digits[11] = "0";
    uint32_t len = 0;
    for (size_t at = 0; at < sizeof POWERS / sizeof *POWERS; ++at) {
        char digit = '0';
        for (; number >= POWERS[at]; number -= POWERS[at]) {
            ++digit;
        }
        if (digit != '0' || len != 0) {
            digits[len++] = digit;
        }
    }
    say(digits);
}

bool same(const char *one, const char *other) {
    while (*one != 0 && *one == *other) {
        ++one;
        ++other;
    }
    return *one == *other;
}

static uint32_t uptime_s(void *user) {
    struct device *device = user;
    void (*in_the_midst)(void) = device->in_the_midst;
    device->in_the_midst = 0;
    if (in_the_midst != 0) {
        in_the_midst();
    }
    return device->uptime_s;
}

static uint32_t read_horizon(void *user) {
    return ((struct device *)user)->horizon;
}

static int32_t raise_horizon(void *user, uint32_t unix_s) {
    struct device *device = user;
    if (device->fails) {
        return 1;
    }
    device->raised += 1;
    if (!device->forgets) {
        device->horizon = unix_s;
    }
    return 0;
}

rf_config config_of(struct device *device, uint32_t node_id, uint32_t start_unix_s, uint32_t end_unix_s) {
    static const uint8_t key[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    rf_config config;
    config.key = key;
    config.grant.node_id = node_id;
    config.grant.start_unix_s = start_unix_s;
    config.grant.end_unix_s = end_unix_s;
    config.block_s = 0;
    config.uptime_s = uptime_s;
    config.read_horizon = read_horizon;
    config.raise_horizon = raise_horizon;
    config.user = device;
    return config;
}
