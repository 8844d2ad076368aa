/*
 * Randflake ids for C firmware: ids of 64 bits, or of 53 (RF_BITS53), that are unique across a fleet of devices, and reveal
 * nothing without the key.
 *
 * README.md says how to get the library, librandflake.a, and how to use it with Zephyr, ESP-IDF, PlatformIO and
 * FreeRTOS; it has a whole program. The library needs no heap and no C library, has no global state, and never panics.
 *
 * Times are Unix times in whole seconds, as uint32_t.
 *
 *   rf_init         once at start: the key, the grant, the callbacks
 *   rf_set_clock    when a time arrives, or once with 0 if none ever does
 *   rf_renew        in the main loop, every few seconds: it claims the next block of the grant and writes the horizon
 *   rf_next         anywhere, interrupts included: the next id
 *
 * Who may call what. None waits for another, and what comes at a wrong time is refused and changes nothing:
 *
 *   - rf_next, and the functions without an rf_t or rf_flash: any thread and any interrupt, at any time, also in the midst
 *     of any other call.
 *   - rf_set_clock, rf_now, rf_inspect: the same. The last setting of the clock wins. While rf_init or rf_wake replaces the
 *     configuration, the first returns RF_BUSY and the others return 0.
 *   - rf_init, rf_wake, rf_renew, rf_retain: threads, as they may write flash memory. A second one on the same rf_t, from
 *     another thread, an interrupt or a callback of the first, returns RF_BUSY; and so does one that would replace what a
 *     call of the groups above is just using. A thread that is deleted in the midst of one leaves RF_BUSY until a reset.
 *   - rf_flash_open, rf_flash_raise, rf_flash_erase_ahead: the same for an rf_flash; rf_flash_horizon at any time.
 *   - rf_provision: in the factory, while nothing else runs.
 *
 * A pointer that is NULL gives RF_NULL; from functions that return no status, 0 or nothing. Nothing is written then.
 *
 * On processors with compare-and-swap (Cortex-M3 and up, RISC-V with the A extension) no interrupt is ever masked. On
 * others (Cortex-M0, M0+, RV32IMC) they are masked for 8 to 10 instructions at a time: see rf_critical_enter. What
 * cannot be masked (NMI) must not call the library there.
 */
#ifndef RANDFLAKE_H
#define RANDFLAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call: RF_OK or one of the errors below. Nothing has changed after an error. */
typedef int32_t rf_status;

/* The comment before a code is what rf_error_text returns for it. */
enum {
    /** no error */
    RF_OK = 0,
    /** the clock does not know the time yet: call rf_set_clock */
    RF_CLOCK_UNKNOWN = 1,
    /** the clock is behind the last id or the block: wait until it has caught up */
    RF_CLOCK_BEHIND = 2,
    /** all 131072 ids of this second (8192 of 53 bits) are issued: wait for the next second */
    RF_SEQUENCE_EXHAUSTED = 3,
    /** no block is in force: call rf_renew in the main loop */
    RF_NO_BLOCK = 4,
    /** another call is in progress on the same rf_t or rf_flash: call again later */
    RF_BUSY = 5,
    /** nothing is left of the grant, or it has expired: the device needs a new one */
    RF_GRANT_USED = 6,
    /** the horizon is 0, so it was lost or the device was never provisioned: replace the grant, then call rf_provision */
    RF_HORIZON_LOST = 7,
    /** raise_horizon failed, or read_horizon does not return what was written */
    RF_HORIZON_STORE = 8,
    /** the device has a horizon already: it is kept */
    RF_PROVISIONED = 9,
    /** a pointer is NULL, or rf_init was not called */
    RF_NULL = 10,
    /** the node id is above 131071, or above 1023 with 53-bit ids */
    RF_NODE_ID = 11,
    /** the grant is empty, begins before 2024-10-27 03:33:20 UTC or ends after 2058-11-05 17:10:23 UTC */
    RF_GRANT = 12,
    /** a block has more than 32700 seconds */
    RF_BLOCK = 13,
    /** the text is not an id: 1 to 13 of 0-9 and a-v, without a leading 0, are allowed */
    RF_TEXT = 14,
    /** the ticket is of another version than 1, or than 2 with 53-bit ids */
    RF_TICKET_VERSION = 15,
    /** the ticket's tag is wrong: it was changed, or made with another key */
    RF_TICKET_FORGED = 16,
    /** the ticket is for another device */
    RF_TICKET_FOREIGN = 17,
    /** the ticket's counter is not above that of the last one accepted */
    RF_TICKET_REPLAYED = 18,
    /** the ticket's lease is invalid */
    RF_TICKET_LEASE = 19,
    /** the ticket's lease has expired */
    RF_TICKET_EXPIRED = 20,
    /** the ticket's counter is above 1073741823 */
    RF_TICKET_COUNTER = 21,
    /** the device is not provisioned: the memory of its grant is blank */
    RF_NOT_PROVISIONED = 22,
    /** the flash is not of 3 to 1024 pages, of up to 1 MiB and at least 4 slots, and slots of 8, 16 or 32 bytes */
    RF_FLASH_PAGES = 23,
    /** the flash was written by a library with another format: nothing was changed */
    RF_FLASH_FORMAT = 24,
    /** the grant was written in a form of another version than 1, or than 2 with 53-bit ids */
    RF_GRANT_VERSION = 25
};

/** Describes a status in English, as a constant string; "unknown status" for a number that is none. */
const char *rf_error_text(rf_status status);

/* With RF_BITS53 defined before this file is included, in each source, ids are below 2^53, which JavaScript and JSON hold as
 * numbers. The archive is another one, built with `--features bits53`; a program does not link with the wrong one. */
#ifdef RF_BITS53
#define rf_init rf53_init
#define rf_wake rf53_wake
#define RF_MAX_NODE_ID 1023
#define RF_IDS_PER_SECOND 8192
#else
#define RF_MAX_NODE_ID 131071
#define RF_IDS_PER_SECOND 131072
#endif

/** The right to issue: a node id, for the seconds from `start_unix_s` until before `end_unix_s`.
 *
 * All grants of one node id under one key must be disjoint, over all devices. */
typedef struct rf_grant {
    /** 0 to RF_MAX_NODE_ID. */
    uint32_t node_id;
    uint32_t start_unix_s;
    uint32_t end_unix_s;
} rf_grant;

/** Length of a grant in a device's memory, without the key behind it. */
#define RF_GRANT_SIZE 16

/** Decodes a grant as `randflake lease provision --grant-at` writes it into a device's memory.
 *
 * Errors, after which nothing was written: RF_NOT_PROVISIONED for blank memory, RF_GRANT_VERSION, RF_NODE_ID, RF_GRANT,
 * RF_NULL. */
rf_status rf_read_grant(const uint8_t bytes[RF_GRANT_SIZE], rf_grant *grant);

/** What rf_init needs. It is copied, so it may be a local variable. */
typedef struct rf_config {
    /** The 16 bytes of the fleet's key: the secret, or of 53-bit ids what `randflake keygen --key53` prints. Only read by
     * rf_init. */
    const uint8_t *key;
    /** The device's alone, with one horizon. */
    rf_grant grant;
    /** How far the horizon is raised at a time: 1 to 32700 seconds, 0 for 60.
     *
     * A longer block writes flash memory less often, and skips more of the grant at each reset. */
    uint32_t block_s;
    /** Returns the seconds since some fixed moment, such as the start of the device.
     *
     * It never goes back, except to 0 at a reset, and may be called from whatever calls rf_next. */
    uint32_t (*uptime_s)(void *user);
    /** Returns the horizon: what was last raised, also after a reset; 0 if there is none that can be read. */
    uint32_t (*read_horizon)(void *user);
    /** Writes the horizon, and returns 0 when it is durable: still there after a power cut. It is read back then, and
     * may have been rounded up to a multiple of 4, as rf_write_record does.
     *
     * A value other than 0 says that it failed. The horizon is the old or the new one then. */
    int32_t (*raise_horizon)(void *user, uint32_t unix_s);
    /** Passed to the three callbacks. */
    void *user;
} rf_config;

/* Private: the size and alignment of rf_t, and how each version of the language says them. */
#if (defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ > 4) || (defined(UINTPTR_MAX) && UINTPTR_MAX > 0xffffffffu)
#define RF_SIZE 256
#define RF_ALIGN 128
#define RF_FLASH_SIZE 80
#else
#define RF_SIZE 80
#define RF_ALIGN 8
#define RF_FLASH_SIZE 56
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define RF_ALIGNED alignas(RF_ALIGN)
#define RF_ASSERT(holds, name) static_assert(holds, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define RF_ALIGNED _Alignas(RF_ALIGN)
#define RF_ASSERT(holds, name) _Static_assert(holds, #name)
#else
#ifdef __GNUC__
#define RF_ALIGNED __attribute__((aligned(RF_ALIGN)))
#else
#define RF_ALIGNED
#endif
#define RF_ASSERT(holds, name) typedef char rf_assert_##name[(holds) ? 1 : -1]
#endif

/** One source of ids. Its content is private; it holds the key.
 *
 * It must be zero before the first rf_init, as static variables are, and must be neither moved nor copied after. */
typedef struct rf_t {
    RF_ALIGNED uint64_t content[RF_SIZE / 8];
} rf_t;

struct rf_aligned {
    char before;
    rf_t rf;
};

/* What the library was built with. */
RF_ASSERT(sizeof(rf_t) == RF_SIZE, size_of_rf_t);
/* UINTPTR_MAX alone would not do: in C++98 stdint.h has no limits. */
RF_ASSERT((sizeof(void *) > 4) == (RF_SIZE > 80), size_of_pointers);
RF_ASSERT(offsetof(struct rf_aligned, rf) == RF_ALIGN, alignment_of_rf_t);
RF_ASSERT(sizeof(rf_grant) == 12, size_of_rf_grant);
RF_ASSERT(sizeof(rf_config) == 16 + 5 * sizeof(void *), size_of_rf_config);

/** Sets up a source of ids. It has no block yet: rf_next refuses until rf_set_clock and rf_renew were called.
 *
 * Calling it again, with a new grant for instance, ends the block in force and keeps the time.
 *
 * Errors: RF_NULL, RF_NOT_PROVISIONED, RF_NODE_ID, RF_GRANT, RF_BLOCK, RF_HORIZON_LOST, RF_GRANT_USED, RF_BUSY. */
rf_status rf_init(rf_t *rf, const rf_config *config);

/** Words that rf_retain keeps: the length of `words` in both calls. */
#define RF_RETAINED_WORDS 5

/** Ends the block in force before a sleep in which RAM is lost, and keeps what is left of it in five words that survive:
 * registers of a real-time clock, or RAM that stays powered. rf_next refuses from then on. If the device does not sleep
 * after all, rf_renew begins the next block, which the clock has to reach first.
 *
 * Errors: RF_BUSY, try again; RF_NULL for NULL and before rf_init. */
rf_status rf_retain(rf_t *rf, volatile uint32_t *words);

/** rf_init after a sleep: goes on with the block of which rf_retain has kept a rest, without writing the horizon, and the
 * clock may be set to any time from that rest on. Otherwise as rf_init: if the words fail their check (CRC-32C), are not of
 * this grant, or a block was begun since.
 *
 * Call it if the chip says that its last reset was the end of a sleep, and rf_init after every other: over a power cut the
 * words may become anything. They are zeroed first and read back, so no block goes on twice.
 *
 * Errors: those of rf_init, RF_BUSY also after an rf_init. Until rf_set_clock, rf_next returns RF_CLOCK_UNKNOWN. */
rf_status rf_wake(rf_t *rf, const rf_config *config, volatile uint32_t *words);

/** Writes a device's first horizon: the start of its grant. For the factory, or after a lost horizon together with a
 * new grant; never in a program that runs at each start, since a lost horizon would go unnoticed there.
 *
 * Errors: RF_NULL, RF_NOT_PROVISIONED, RF_NODE_ID, RF_GRANT, RF_BLOCK, RF_PROVISIONED, RF_HORIZON_STORE. */
rf_status rf_provision(const rf_config *config);

/** Sets the clock to a time that was received, within bounds: not before the horizon or the grant's start, not after the
 * grant's end, and at most `max_step_s` after the time that the last trusted setting, one with UINT32_MAX, has come to
 * since. Before any, steps count from the horizon or the grant's start, whichever is later, as time goes on since the
 * first call. So many wrong times put the clock no further ahead than one. rf_now returns what was set.
 *
 * A time that is too late makes a grant useless up to that time, so allow a long step only if the time is
 * authenticated: UINT32_MAX, for no limit.
 *
 * Without a source of time call it once with (rf, 0, 0): the clock begins at the horizon.
 *
 * Errors: RF_NULL before rf_init, RF_BUSY while it runs. */
rf_status rf_set_clock(rf_t *rf, uint32_t unix_s, uint32_t max_step_s);

/** Returns the time that the clock shows, or 0 while it shows none. */
uint32_t rf_now(const rf_t *rf);

/** Begins a block of the grant, or extends it when less than half of `block_s` is left. Each time it raises the horizon,
 * so call it where flash memory may be written, more often than each half of `block_s`. It returns at once when there
 * is nothing to do. After 32700 s (9.1 hours) a block ends and the next call begins another.
 *
 * Errors: RF_CLOCK_UNKNOWN; RF_GRANT_USED, where ids are issued up to the end of the block in force; RF_HORIZON_LOST;
 * RF_HORIZON_STORE, try again after a pause that grows, as each try may cost three erases; RF_BUSY, try again; RF_NULL
 * before rf_init. */
rf_status rf_renew(rf_t *rf);

/** Writes the next id to `*id`. It never waits and writes no flash memory.
 *
 * Errors, of which none consumes anything or changes `*id`: RF_NO_BLOCK, also before rf_init; RF_CLOCK_BEHIND;
 * RF_CLOCK_UNKNOWN after rf_wake; RF_SEQUENCE_EXHAUSTED; RF_NULL. */
rf_status rf_next(rf_t *rf, uint64_t *id);

/** Characters of the longest text, with the zero that ends it. */
#define RF_TEXT_SIZE 14

/** Writes an id as text: 1 to 13 of 0-9 and a-v, and a zero. Returns the length without the zero. */
size_t rf_text(uint64_t id, char text[RF_TEXT_SIZE]);

/** Reads an id from `len` characters of text. Errors: RF_TEXT, RF_NULL. */
rf_status rf_parse(const char *text, size_t len, uint64_t *id);

/** Length of a record in bytes. */
#define RF_RECORD_SIZE 8

/** Writes a horizon, rounded up to a multiple of 4, as a record to be kept in FRAM, EEPROM or flash memory. One that was
 * written in part, or that has lost more than one bit, is noticed. Flash memory that is not erased for each record
 * needs more than that: prefer a file system or key-value store that survives power cuts. */
void rf_write_record(uint32_t unix_s, uint8_t record[RF_RECORD_SIZE]);

/** Returns the horizon of a record, or 0 if it is none. */
uint32_t rf_read_record(const uint8_t record[RF_RECORD_SIZE]);

/** Raw flash memory that keeps the horizon: pages for this log alone, at least three, which it writes in turn.
 *
 * No id comes twice while fewer than three raises in a row were cut or failed, wherever. The callbacks must not report an
 * erase that was not done, nor erase or rewrite anything but what they are asked for: no SD card, no wear levelling, no
 * emulated EEPROM, whose power cuts change records that were whole. Fill in all but `content`, which
 * is private and must be zero, call rf_flash_open, and give rf_config
 *
 *     .read_horizon = rf_flash_horizon, .raise_horizon = rf_flash_raise, .user = &flash
 *
 * (`uptime_s` gets the same pointer). */
typedef struct rf_flash {
    /** Bytes that are erased at once: at least 4 slots, at most 1 MiB. */
    uint32_t page_size;
    /** 3 to 1024. */
    uint32_t pages;
    /** 8, 16 or 32: what is programmed at once and only once, between two erases. */
    uint32_t slot_size;
    /** Each returns 0 when it is done, and another value when it failed: also a read of a word that a power cut has torn,
     * where the part answers with a fault. `at` counts from the start of the log's pages; `len` is `slot_size`; `to` and
     * `from` are aligned to 8 bytes. */
    int32_t (*read)(void *context, uint32_t at, uint8_t *to, uint32_t len);
    int32_t (*program)(void *context, uint32_t at, const uint8_t *from, uint32_t len);
    /** Erases the page that begins at `at` to 0xff. */
    int32_t (*erase)(void *context, uint32_t at);
    /** Passed to the three. */
    void *context;
    uint32_t content[7];
} rf_flash;

RF_ASSERT(sizeof(rf_flash) == RF_FLASH_SIZE, size_of_rf_flash);

/** Reads the log. Writes nothing. Call it at each start, before rf_init or rf_provision.
 *
 * Errors: RF_NULL, RF_FLASH_PAGES; RF_FLASH_FORMAT; RF_BUSY; RF_HORIZON_STORE when a read failed and no record is
 * readable. */
rf_status rf_flash_open(rf_flash *flash);

/** The horizon of an rf_flash, or 0 for NULL, before rf_flash_open, and where no record is. */
uint32_t rf_flash_horizon(void *flash);

/** Raises the horizon of an rf_flash. The first call of a start erases a page, and so does one that finds its page full,
 * which stops a program that runs in the same flash: milliseconds, or a second on some parts.
 *
 * Errors: RF_BUSY; RF_HORIZON_STORE, try again after a pause that doubles from 1 s to 15 min, since each try may erase three
 * pages; RF_NULL for NULL and before rf_flash_open. */
int32_t rf_flash_raise(void *flash, uint32_t unix_s);

/** Begins the next page now, if the current one has no room for so many raises: none of these then waits for an erase. For
 * a moment in which an erase harms nobody.
 *
 * Each page that is left early is an erase more, so a number that fills over half a page counts as half a page. Before the
 * first raise of a start, and after one that failed, this does nothing: the next raise erases a page.
 *
 * Errors: RF_HORIZON_STORE, after which the next raise erases a page, as it does without this call; RF_BUSY; RF_NULL for
 * NULL and before rf_flash_open. */
rf_status rf_flash_erase_ahead(rf_flash *flash, uint32_t raises);

/** What an id holds. */
typedef struct rf_parts {
    uint32_t unix_s;
    uint32_t node_id;
    uint32_t sequence;
} rf_parts;

RF_ASSERT(sizeof(rf_parts) == 12, size_of_rf_parts);

/** Decrypts an id, for debugging. Ids are not authenticated: any number has some parts. All are 0 before rf_init. */
rf_parts rf_inspect(const rf_t *rf, uint64_t id);

/** Length of a ticket in bytes. */
#define RF_TICKET_SIZE 32

/** Checks a ticket, by which a server hands a device its grant, and writes what it grants to `*grant` and its counter to
 * `*counter`. `key` is the device's ticket key of 16 bytes, never that of the ids. `*counter` goes in as the counter of
 * the last ticket accepted, 0 if none was: keep it durably. `now_unix_s` is rf_now.
 *
 * Errors, after which nothing was written: RF_TICKET_VERSION, RF_TICKET_FORGED, RF_TICKET_FOREIGN, RF_TICKET_COUNTER,
 * RF_TICKET_REPLAYED, RF_TICKET_LEASE, RF_TICKET_EXPIRED, RF_NULL. */
rf_status rf_accept_ticket(const uint8_t ticket[RF_TICKET_SIZE], const uint8_t key[16], uint64_t device_id,
                           uint32_t now_unix_s, uint32_t *counter, rf_grant *grant);

/** Masks interrupts, and returns what rf_critical_leave needs to restore them.
 *
 * Only on processors without compare-and-swap (Cortex-M0, M0+, RV32IMC). The library has both functions, as weak symbols:
 * with PRIMASK, or mstatus.MIE in machine mode. Define both yourself where that is not enough or not allowed: on a
 * dual core (RP2040: take a hardware spin lock too), in unprivileged code, or beside a radio stack that forbids it
 * (SoftDevice). Sections do not nest. */
uint32_t rf_critical_enter(void);

/** Restores interrupts to what rf_critical_enter found. */
void rf_critical_leave(uint32_t state);

#ifdef __cplusplus
}
#endif

#endif
