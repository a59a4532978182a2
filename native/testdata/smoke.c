/*
 * A caller of recolva.h. It exits 0 if the library keeps what the header
 * promises, else it says what failed.
 *
 *   smoke            checks versions, bad arguments, batches, blocks and threads
 *   smoke vectors    reads lines of golden scores from standard input:
 *                      E last_accessed now half_life_ms score
 *                      P last_accessed now scale_ms exponent importance score
 *                    doubles as 16 hexadecimal digits of their bits; prints how
 *                    many it checked
 *   smoke flushed    the same with a processor that is set to flush subnormal
 *                    numbers to zero, as some libraries of a host program do
 */
#include "recolva.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifndef _WIN32
#include <pthread.h>
#endif

#ifdef __SSE2__
#include <xmmintrin.h>
static void flush_subnormals(void) { _mm_setcsr(_mm_getcsr() | 0x8040u); /* FTZ and DAZ */ }
#else
static void flush_subnormals(void) {}
#endif

static int failures = 0;

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            printf("smoke.c:%d: %s does not hold\n", __LINE__, #condition); \
            failures++;                                                     \
        }                                                                   \
    } while (0)

static const double untouched = -7.25;

static double from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t to_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double not_a_number(void) { return from_bits(UINT64_C(0x7ff8000000000000)); }
static double infinite(void) { return from_bits(UINT64_C(0x7ff0000000000000)); }

static void check_scores(void) {
    double score = untouched;
    CHECK(RecolvaAbiVersion() == RECOLVA_ABI_VERSION);
    CHECK(DecayScoreExponential(1000000, 87400000, 86400000, &score) == RECOLVA_OK && score == 0.5);
    CHECK(DecayScoreExponential(INT64_MIN, INT64_MAX, 1000, &score) == RECOLVA_OK && score == 0);
    CHECK(DecayScoreExponential(INT64_MAX, INT64_MIN, 1000, &score) == RECOLVA_OK && score == 1);
    CHECK(DecayScorePowerLaw(1000000, 87400000, 86400000, 1, 0.5, &score) == RECOLVA_OK && score == 0.25);
    CHECK(DecayScorePowerLaw(0, 0, 1000, 0.1, 0.3, &score) == RECOLVA_OK && score == 0.3);
    CHECK(DecayScorePowerLaw(0, 1, 1000, 10, -0.0, &score) == RECOLVA_OK && to_bits(score) == 0);
}

static void check_bad_scores(void) {
    static const int64_t bad_times[] = {INT64_MIN, -1, 0, 999, INT64_C(315576000001), INT64_MAX};
    const double bad_exponents[] = {-1, 0, 0.09999999999999999, 10.000000000000002, infinite(), not_a_number()};
    const double bad_importances[] = {-1, -5e-324, 1.0000000000000002, infinite(), -infinite(), not_a_number()};
    double score = untouched;
    size_t i;
    for (i = 0; i < 6; i++) {
        CHECK(DecayScoreExponential(0, 1, bad_times[i], &score) == RECOLVA_INVALID_ARGUMENT);
        CHECK(DecayScorePowerLaw(0, 1, bad_times[i], 1, 1, &score) == RECOLVA_INVALID_ARGUMENT);
        CHECK(DecayScorePowerLaw(0, 1, 1000, bad_exponents[i], 1, &score) == RECOLVA_INVALID_ARGUMENT);
        CHECK(DecayScorePowerLaw(0, 1, 1000, 1, bad_importances[i], &score) == RECOLVA_INVALID_ARGUMENT);
    }
    CHECK(score == untouched);
    CHECK(DecayScoreExponential(0, 1, 1000, NULL) == RECOLVA_NULL_OUTPUT);
    CHECK(DecayScoreExponential(0, 1, 0, NULL) == RECOLVA_NULL_OUTPUT);
    CHECK(DecayScorePowerLaw(0, 1, 1000, 1, 1, NULL) == RECOLVA_NULL_OUTPUT);
    CHECK(DecayScorePowerLaw(0, 1, 1000, 1, 2, NULL) == RECOLVA_NULL_OUTPUT);
}

static void check_batches(void) {
    const int64_t times[3] = {1000000, 44200000, 87400000};
    double importance[3] = {0.5, 1, 0};
    double scores[3] = {untouched, untouched, untouched};
    const int64_t now = 87400000, day = 86400000;
    int i;
    CHECK(DecayScoreExponentialBatch(times, 3, now, 999, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScoreExponentialBatch(times, -1, now, day, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScoreExponentialBatch(times, INT64_MIN, now, day, NULL) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScoreExponentialBatch(times, INT64_MAX, now, day, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScoreExponentialBatch(NULL, 3, now, day, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScoreExponentialBatch(times, 3, now, day, NULL) == RECOLVA_NULL_OUTPUT);
    CHECK(DecayScoreExponentialBatch(NULL, 0, now, day, NULL) == RECOLVA_OK);
    CHECK(DecayScoreExponentialBatch(NULL, 0, now, 0, NULL) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScorePowerLawBatch(times, importance, 3, now, 999, 1, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScorePowerLawBatch(times, importance, 3, now, day, 11, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScorePowerLawBatch(times, importance, -1, now, day, 1, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScorePowerLawBatch(NULL, importance, 3, now, day, 1, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScorePowerLawBatch(times, NULL, 3, now, day, 1, scores) == RECOLVA_INVALID_ARGUMENT);
    CHECK(DecayScorePowerLawBatch(times, importance, 3, now, day, 1, NULL) == RECOLVA_NULL_OUTPUT);
    CHECK(DecayScorePowerLawBatch(NULL, NULL, 0, now, day, 1, NULL) == RECOLVA_OK);
    importance[2] = not_a_number(); /* the last one is found before the first score is written */
    CHECK(DecayScorePowerLawBatch(times, importance, 3, now, day, 1, scores) == RECOLVA_INVALID_ARGUMENT);
    for (i = 0; i < 3; i++)
        CHECK(scores[i] == untouched);
    importance[2] = 0;
    CHECK(DecayScorePowerLawBatch(times, importance, 3, now, day, 1, scores) == RECOLVA_OK);
    CHECK(scores[0] == 0.25 && scores[1] == 2.0 / 3 && scores[2] == 0);
    CHECK(DecayScoreExponentialBatch(times, 3, now, day, scores) == RECOLVA_OK);
    CHECK(scores[0] == 0.5 && scores[1] == 0.7071067811865476 && scores[2] == 1);
}

/* The arguments of RecolvaScanBlock, to be changed one at a time. */
enum { ROWS = 4 };
typedef struct {
    const uint8_t* data;
    int64_t length;
    int32_t at_end, model;
    const double* parameters;
    int32_t parameter_count;
    int64_t now;
    double threshold;
    int64_t capacity;
    int64_t *line_start, *line_end, *id_start, *id_end, *last_accessed;
    double* score;
    uint8_t* prune;
    int64_t *records, *blanks, *consumed, *bad_line;
} scan_arguments;

static int64_t columns[5][ROWS], progress[4];
static double score_column[ROWS];
static uint8_t prune_column[ROWS];

static scan_arguments arguments_for(const char* text) {
    static const double parameters[2] = {86400000, 1};
    scan_arguments a;
    a.data = (const uint8_t*)text;
    a.length = (int64_t)strlen(text);
    a.at_end = 1;
    a.model = RECOLVA_POWER_LAW;
    a.parameters = parameters;
    a.parameter_count = 2;
    a.now = 87400000;
    a.threshold = 0.3;
    a.capacity = ROWS;
    a.line_start = columns[0];
    a.line_end = columns[1];
    a.id_start = columns[2];
    a.id_end = columns[3];
    a.last_accessed = columns[4];
    a.score = score_column;
    a.prune = prune_column;
    a.records = &progress[0];
    a.blanks = &progress[1];
    a.consumed = &progress[2];
    a.bad_line = &progress[3];
    memset(progress, -1, sizeof progress);
    return a;
}

static int32_t scan(const scan_arguments* a) {
    return RecolvaScanBlock(a->data, a->length, a->at_end, a->model, a->parameters, a->parameter_count, a->now,
                            a->threshold, a->capacity, a->line_start, a->line_end, a->id_start, a->id_end,
                            a->last_accessed, a->score, a->prune, a->records, a->blanks, a->consumed,
                            a->bad_line);
}

#define FIRST "{\"id\":\"a\",\"last_accessed_ms\":1000000,\"importance\":0.5}\r\n"
#define SECOND "{\"importance\":1, \"id\":\"b\\n\", \"last_accessed_ms\":87400000}"

static void check_blocks(void) {
    scan_arguments a = arguments_for(FIRST " \n" SECOND);
    const int64_t first = (int64_t)strlen(FIRST), second = (int64_t)strlen(SECOND);
    CHECK(scan(&a) == RECOLVA_OK);
    CHECK(progress[0] == 2 && progress[1] == 1 && progress[2] == a.length && progress[3] == 0);
    CHECK(columns[0][0] == 0 && columns[1][0] == first && columns[0][1] == first + 2);
    CHECK(columns[1][1] == first + 2 + second && columns[4][0] == 1000000 && columns[4][1] == 87400000);
    CHECK(columns[3][0] - columns[2][0] == 1 && a.data[columns[2][0]] == 'a');
    CHECK(columns[3][1] - columns[2][1] == 3 && memcmp(a.data + columns[2][1], "b\\n", 3) == 0);
    CHECK(score_column[0] == 0.25 && prune_column[0] == 1 && score_column[1] == 1 && prune_column[1] == 0);

    a.at_end = 0; /* now the last line is unfinished */
    CHECK(scan(&a) == RECOLVA_OK);
    CHECK(progress[0] == 1 && progress[1] == 1 && progress[2] == first + 2 && progress[3] == 0);

    a = arguments_for(FIRST FIRST FIRST);
    a.capacity = 2;
    CHECK(scan(&a) == RECOLVA_OK && progress[0] == 2 && progress[2] == 2 * first && progress[3] == 0);

    a = arguments_for(FIRST "\n{\"id\":\"c\"}\n" FIRST);
    CHECK(scan(&a) == RECOLVA_OK && progress[0] == 1 && progress[1] == 1);
    CHECK(progress[2] == first + 1 && progress[3] == 3);

    a = arguments_for("");
    a.data = NULL;
    CHECK(scan(&a) == RECOLVA_OK && progress[0] == 0 && progress[2] == 0 && progress[3] == 0);
}

#define CHECK_BAD_SCAN(change, want)          \
    do {                                      \
        scan_arguments a = arguments_for(FIRST); \
        change;                               \
        CHECK(scan(&a) == (want));            \
        CHECK(progress[0] == -1 && progress[1] == -1 && progress[2] == -1 && progress[3] == -1); \
    } while (0)

static void check_bad_blocks(void) {
    CHECK_BAD_SCAN(a.data = NULL, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.length = -1, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.model = -1, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.model = 2, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.parameters = NULL, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.parameter_count = 1, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.parameter_count = INT32_MIN, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.threshold = not_a_number(), RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.threshold = 1.0000000000000002, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.capacity = -1, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.capacity = INT64_MAX, RECOLVA_INVALID_ARGUMENT);
    CHECK_BAD_SCAN(a.line_start = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.line_end = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.id_start = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.id_end = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.last_accessed = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.score = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.prune = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.records = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.blanks = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.consumed = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN(a.bad_line = NULL, RECOLVA_NULL_OUTPUT);
    CHECK_BAD_SCAN((a.bad_line = NULL, a.model = 2), RECOLVA_NULL_OUTPUT);
}

#ifndef _WIN32
static void* score_much(void* result) {
    double score, sum = 0;
    int64_t i;
    for (i = 0; i < 2000; i++) {
        if (DecayScorePowerLaw(-i * 86400000, 0, 86400000, 1.3, 0.7, &score) != RECOLVA_OK)
            return NULL;
        sum += score;
    }
    *(double*)result = sum;
    return NULL;
}

/* Threads that score at the same time get what one gets. */
static void check_threads(void) {
    pthread_t threads[4];
    double sums[4] = {0, 0, 0, 0}, want = 0;
    int i;
    score_much(&want);
    for (i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, score_much, &sums[i]) == 0);
    for (i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(sums[i] == want && want > 0);
    }
}
#else
static void check_threads(void) {}
#endif

/* Checks one score by the single call and by a batch of one. */
static void check_vector(char model, int64_t last, int64_t now, int64_t millis, double exponent,
                         double importance, uint64_t want) {
    double single = untouched, batch = untouched;
    int32_t status;
    if (model == 'E')
        status = DecayScoreExponential(last, now, millis, &single) |
                 DecayScoreExponentialBatch(&last, 1, now, millis, &batch);
    else
        status = DecayScorePowerLaw(last, now, millis, exponent, importance, &single) |
                 DecayScorePowerLawBatch(&last, &importance, 1, now, millis, exponent, &batch);
    if (status != RECOLVA_OK || to_bits(single) != want || to_bits(batch) != want) {
        printf("%c %" PRId64 " %" PRId64 " %" PRId64 " %.17g %.17g: status %d, got %a and %a, want %a\n", model,
               last, now, millis, exponent, importance, (int)status, single, batch, from_bits(want));
        failures++;
    }
}

static void check_vectors(void) {
    char model;
    int64_t last, now, millis;
    uint64_t exponent, importance, want;
    long count = 0;
    while (scanf(" %c %" SCNd64 " %" SCNd64 " %" SCNd64, &model, &last, &now, &millis) == 4) {
        exponent = importance = 0;
        if (model == 'P' && scanf("%" SCNx64 " %" SCNx64, &exponent, &importance) != 2)
            break;
        if (scanf("%" SCNx64, &want) != 1)
            break;
        check_vector(model, last, now, millis, from_bits(exponent), from_bits(importance), want);
        count++;
    }
    printf("%ld\n", count);
}

/* Arguments and decisions that depend on subnormal numbers. */
static void check_flushed(void) {
    scan_arguments a = arguments_for(FIRST);
    double score = untouched;
    const double least = from_bits(1), minus_least = from_bits(UINT64_C(0x8000000000000001));
    CHECK(DecayScorePowerLaw(0, 0, 1000, 1, least, &score) == RECOLVA_OK && to_bits(score) == 1);
    CHECK(DecayScorePowerLaw(0, 0, 1000, 1, minus_least, &score) == RECOLVA_INVALID_ARGUMENT);
    a.model = RECOLVA_EXPONENTIAL;
    a.parameter_count = 1;
    a.now = INT64_MAX; /* the score is 0 */
    a.threshold = least;
    CHECK(scan(&a) == RECOLVA_OK && to_bits(score_column[0]) == 0 && prune_column[0] == 1);
    a.threshold = 0;
    CHECK(scan(&a) == RECOLVA_OK && prune_column[0] == 0);
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "vectors") == 0) {
        check_vectors();
    } else if (argc == 2 && strcmp(argv[1], "flushed") == 0) {
        flush_subnormals();
        check_flushed();
        check_vectors();
    } else {
        check_scores();
        check_bad_scores();
        check_batches();
        check_blocks();
        check_bad_blocks();
        check_threads();
    }
    return failures == 0 ? 0 : 1;
}
