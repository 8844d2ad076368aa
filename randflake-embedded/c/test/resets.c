/* The machine is reset again and again, its clock is told no time, and the horizon is all that it keeps. */
#include "board.h"

#define RESETS 20
#define IDS_EACH 100
#define MAGIC 0x5eed1d5eu

struct kept {
    /* That the rest has a meaning: at power-on memory may hold anything. */
    uint32_t magic;
    uint32_t resets;
    struct device device;
    uint32_t highest_unix_s;
    uint32_t issued;
    uint32_t duplicates;
};

static NOINIT struct kept kept;

static void issue(void) {
    static rf_t rf;
    rf_config config = config_of(&kept.device, 42, EPOCH, EPOCH + 1000000);
    kept.device.uptime_s = 0;
    EXPECT(rf_init(&rf, &config) == RF_OK);
    EXPECT(rf_set_clock(&rf, 0, 0) == RF_OK);
    EXPECT(rf_renew(&rf) == RF_OK);
    uint32_t first_unix_s = kept.highest_unix_s + 1;
    for (uint32_t count = 0; count < IDS_EACH; ++count) {
        uint64_t id;
        kept.device.uptime_s = count / 2;
        if (rf_next(&rf, &id) == RF_OK) {
            uint32_t unix_s = rf_inspect(&rf, id).unix_s;
            kept.issued += 1;
            kept.duplicates += unix_s < first_unix_s;
            kept.highest_unix_s = unix_s;
        }
    }
}

void resets(void) {
    if (kept.magic != MAGIC) {
        static const struct kept none;
        kept = none;
        kept.magic = MAGIC;
        rf_config config = config_of(&kept.device, 42, EPOCH, EPOCH + 1000000);
        EXPECT(rf_provision(&config) == RF_OK);
    }
    if (kept.resets < RESETS) {
        issue();
        kept.resets += 1;
        reset();
    }
    say_number(kept.issued);
    say(" ids over ");
    say_number(kept.resets);
    say(" resets\n");
    EXPECT(kept.issued == RESETS * IDS_EACH && kept.duplicates == 0);
    EXPECT(kept.device.raised == RESETS + 1);
    test("resets_without_a_clock");
}
