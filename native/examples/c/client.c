/*
 * recolva from C. The functions are linked; with -DRECOLVA_DLOPEN they come from a
 * library that is loaded at run time.
 */
#ifdef RECOLVA_DLOPEN
#include "dlopen.h"
#else
#include "recolva.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t now = 87400000, day = 86400000;

/* Prints one score of each model, and a batch. */
static int score(void) {
    const int64_t times[3] = {1000000, -85400000, -171800000};
    double one, other, many[3];
    if (DecayScoreExponential(1000000, now, day, &one) != RECOLVA_OK ||
        DecayScorePowerLaw(1000000, now, day, 1.0, 0.5, &other) != RECOLVA_OK ||
        DecayScoreExponentialBatch(times, 3, now, day, many) != RECOLVA_OK)
        return 1;
    printf("exponential %g\npower-law %g\nbatch %g %g %g\n", one, other, many[0], many[1], many[2]);
    return 0;
}

static uint64_t bits(double x) {
    uint64_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static double from_bits(uint64_t word) {
    double x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static char* read_file(const char* name, int64_t* length) {
    char* data = NULL;
    long size;
    FILE* file = fopen(name, "rb");
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0 &&
        (data = malloc((size_t)size + 1)) != NULL)
        *length = (int64_t)fread(data, 1, (size_t)size, file);
    if (file != NULL)
        fclose(file);
    return data;
}

/* Prints id, score and decision of each memory in a JSONL file, a block of rows at a time. */
static int scan(const char* name) {
    enum { ROWS = 100 };
    static int64_t line_start[ROWS], line_end[ROWS], id_start[ROWS], id_end[ROWS], last_accessed[ROWS];
    static double scores[ROWS];
    static uint8_t prune[ROWS];
    const double parameters[2] = {86400000, 1}; /* scale_ms, exponent */
    int64_t at = 0, length = 0, records, blanks, consumed, bad_line, memories = 0, lines = 0, i;
    char* data = read_file(name, &length);
    if (data == NULL) {
        perror(name);
        return 1;
    }
    if (length >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0)
        at = 3; /* a byte order mark belongs to no line */
    do {
        if (RecolvaScanBlock((const uint8_t*)data + at, length - at, 1, RECOLVA_POWER_LAW, parameters, 2, now, 0.3, ROWS,
                             line_start, line_end, id_start, id_end, last_accessed, scores, prune, &records, &blanks,
                             &consumed, &bad_line) != RECOLVA_OK)
            return 1;
        for (i = 0; i < records; i++)
            printf("%.*s\t%016" PRIx64 "\t%d\n", (int)(id_end[i] - id_start[i]), data + at + id_start[i], bits(scores[i]),
                   prune[i]);
        if (bad_line != 0) {
            fprintf(stderr, "line %" PRId64 " is not valid\n", lines + bad_line);
            return 1;
        }
        at += consumed;
        memories += records;
        lines += records + blanks;
    } while (at < length);
    printf("%" PRId64 " memories, %" PRId64 " blank lines\n", memories, lines - memories);
    free(data);
    return 0;
}

/* Answers each line of standard input with status and score, of a single call and of a batch. */
static int vectors(void) {
    char model[16];
    int64_t last, then, millis;
    uint64_t exponent = 0, importance = 0;
    while (scanf("%15s %" SCNd64 " %" SCNd64 " %" SCNd64, model, &last, &then, &millis) == 4) {
        double single = -7.25, batch = -7.25, weight;
        int32_t status, batch_status;
        if (strcmp(model, "exponential") == 0) {
            status = DecayScoreExponential(last, then, millis, &single);
            batch_status = DecayScoreExponentialBatch(&last, 1, then, millis, &batch);
        } else {
            if (scanf("%" SCNx64 " %" SCNx64, &exponent, &importance) != 2)
                return 1;
            weight = from_bits(importance);
            status = DecayScorePowerLaw(last, then, millis, from_bits(exponent), weight, &single);
            batch_status = DecayScorePowerLawBatch(&last, &weight, 1, then, millis, from_bits(exponent), &batch);
        }
        printf("%d %016" PRIx64 " %d %016" PRIx64 "\n", status, bits(single), batch_status, bits(batch));
    }
    return 0;
}

int main(int argc, char** argv) {
#ifdef RECOLVA_DLOPEN
    load();
#endif
    if (argc != 2) {
        fprintf(stderr, "usage: client FILE.jsonl | client --vectors\n");
        return 2;
    }
    if (strcmp(argv[1], "--vectors") == 0)
        return vectors();
    return score() || scan(argv[1]);
}
