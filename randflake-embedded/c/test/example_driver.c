/* Drivers for the README's program: memory stands for the FRAM, and it ends when its first ids are sent. */
#include "board.h"

static NOINIT uint8_t fram[16];
static uint32_t lines;

#define LINES 20

void fram_read(uint32_t at, void *to, uint32_t len);
void fram_write(uint32_t at, const void *from, uint32_t len);
void uart_send(const char *line);
bool uart_receive_time(uint32_t *unix_s);
bool factory_jig_is_connected(void);
void pin_interrupt(void);
void second_interrupt(void);
int main(void);

void fram_read(uint32_t at, void *to, uint32_t len) {
    for (uint32_t count = 0; count < len; ++count) {
        ((uint8_t *)to)[count] = fram[at + count];
    }
}

void fram_write(uint32_t at, const void *from, uint32_t len) {
    for (uint32_t count = 0; count < len; ++count) {
        fram[at + count] = ((const uint8_t *)from)[count];
    }
}

/* The device is new. */
bool factory_jig_is_connected(void) {
    return true;
}

bool uart_receive_time(uint32_t *unix_s) {
    *unix_s = 1790000000;
    return lines == 4;
}

void interrupt(uintptr_t address) {
    (void)address;
    second_interrupt();
    pin_interrupt();
}

static bool is_new(const char *line) {
    static uint64_t ids[LINES];
    size_t len = 0;
    while (line[len] != 0) {
        ++len;
    }
    bool found = rf_parse(line, len, &ids[lines]) == RF_OK;
    for (uint32_t before = 1; before < lines; ++before) {
        found = found && ids[before] != ids[lines];
    }
    return found;
}

/* The first line is what provisioning said, the others are ids. */
void uart_send(const char *line) {
    say(line);
    say("\n");
    EXPECT(lines == 0 ? same(line, "no error") : is_new(line));
    lines += 1;
    if (lines == LINES) {
        test("the_program_of_the_readme");
        finish();
    }
    interrupt_after(1000);
}

_Noreturn void run(void) {
    for (uint32_t at = 0; at < sizeof fram; ++at) {
        fram[at] = 0xff;
    }
    main();
    EXPECT(false);
    test("the_program_of_the_readme");
    finish();
}
