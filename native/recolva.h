/*
 * recolva.h: deterministic scores for the memories of AI agents
 *
 * Introduction
 * ------------
 * The library computes how much of a memory is left, a number between 0 and 1
 * that falls with the time since the memory was last accessed. There are two
 * models:
 *
 *   exponential   score = 2^(-age_ms / half_life_ms)
 *   power-law     score = importance * (1 + age_ms / scale_ms)^(-exponent)
 *
 * with age_ms = max(0, now - last_accessed), computed exactly. A score is the
 * double nearest to the exact value of the formula, ties to even, subnormal
 * results kept: the same bits on every machine. Memories with a score below a
 * threshold are candidates for pruning; equality retains.
 *
 *   #include "recolva.h"
 *   #include <stdio.h>
 *
 *   int main(void) {
 *       double score;
 *       int32_t status = DecayScoreExponential(1000000, 87400000, 86400000, &score);
 *       if (status != RECOLVA_OK)
 *           return 1;
 *       printf("%g\n", score);   // prints 0.5
 *       return 0;
 *   }
 *
 *   cc example.c -o example librecolva.so -Wl,-rpath,.
 *
 * Units and ranges
 * ----------------
 *   last_accessed, now       Unix time in milliseconds, any int64_t
 *   half_life_ms, scale_ms   [1000, 315576000000], one second to ten years
 *   exponent                 [0.1, 10]
 *   importance, threshold    [0, 1]
 *
 * The limits themselves are allowed. NaN and infinities are not; -0.0 is 0. A
 * time of last access after now is allowed and gives age 0.
 *
 * Memory and errors
 * -----------------
 * Every function returns a status, except RecolvaAbiVersion. Only fixed-width
 * scalars and arrays of them cross the boundary. The caller owns all memory: the
 * library keeps no pointer and allocates nothing that the caller could see. On
 * any status but RECOLVA_OK nothing has been written. Arrays of one call must not
 * overlap.
 *
 * Threads
 * -------
 * Every function may be called from any thread, by any number at a time, as long
 * as they write to different memory. There is no state and no initialisation.
 *
 * What comes with it
 * ------------------
 * The library contains the runtime of the Go language. Loading it starts a few
 * threads and installs signal handlers, which pass signals on to handlers that
 * were there before; only a handler for SIGURG, which the runtime uses itself, has
 * to be set after loading. It can't be unloaded: dlclose leaves it in place.
 *
 * LIMITS: loading reserves some 2 GB of addresses (not of memory) and starts
 * threads. Where a limit forbids that (RLIMIT_AS, RLIMIT_DATA, RLIMIT_NPROC), the
 * runtime writes a stack trace and ends the process. Look before you load, as
 * recolva's Python package does, or do not load under such limits.
 *
 * FORK: the runtime does not survive fork(). In a child process that was forked
 * after the library was loaded, every call may hang for ever. Fork before you load
 * the library, or call exec in the child.
 *
 * Versions
 * --------
 * RECOLVA_ABI_VERSION is the version of this header, RecolvaAbiVersion() that of
 * the library that was loaded. It is raised whenever a caller that was compiled
 * against an earlier header would no longer work; new functions alone do not raise
 * it. A caller that loads the library at run time compares the two for equality.
 */
#ifndef RECOLVA_H
#define RECOLVA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ---------------------------------------------------------- */

#define RECOLVA_ABI_VERSION 1

/* Returns the RECOLVA_ABI_VERSION with which the library was compiled. */
int32_t RecolvaAbiVersion(void);

/* ---- Statuses and models ------------------------------------------------ */

enum {
    RECOLVA_OK = 0,
    RECOLVA_INVALID_ARGUMENT = 1, /* out of range, not a number, a negative count, or a missing input */
    RECOLVA_NULL_OUTPUT = 2       /* an output pointer is NULL; this is looked at first */
};

enum {
    RECOLVA_EXPONENTIAL = 0, /* parameters: half_life_ms */
    RECOLVA_POWER_LAW = 1    /* parameters: scale_ms, exponent */
};

/* ---- One score ---------------------------------------------------------- */

/*
 * Writes the exponential score of one memory to *out_score.
 *
 * Returns RECOLVA_INVALID_ARGUMENT if half_life_ms is out of range,
 * RECOLVA_NULL_OUTPUT if out_score is NULL.
 */
int32_t DecayScoreExponential(int64_t last_accessed, int64_t now, int64_t half_life_ms, double* out_score);

/*
 * Writes the power-law score of one memory to *out_score.
 *
 * Returns RECOLVA_INVALID_ARGUMENT if scale_ms, exponent or importance is out of
 * range, RECOLVA_NULL_OUTPUT if out_score is NULL.
 */
int32_t DecayScorePowerLaw(int64_t last_accessed, int64_t now, int64_t scale_ms, double exponent,
                           double importance, double* out_score);

/* ---- Many scores -------------------------------------------------------- */

/*
 * Writes the exponential score of each of count memories to out_scores, for a
 * fraction of the cost of as many single calls:
 *
 *   int64_t times[3] = {1000000, 44200000, 87400000};
 *   double scores[3];
 *   DecayScoreExponentialBatch(times, 3, 87400000, 86400000, scores);
 *   // scores: 0.5, 0.7071067811865476, 1
 *
 * last_accessed and out_scores have count elements each and may be NULL if count
 * is 0, which is allowed (the other arguments are checked all the same).
 *
 * Returns RECOLVA_INVALID_ARGUMENT if count is negative, half_life_ms out of
 * range, or last_accessed missing; RECOLVA_NULL_OUTPUT if out_scores is missing.
 */
int32_t DecayScoreExponentialBatch(const int64_t* last_accessed, int64_t count, int64_t now,
                                   int64_t half_life_ms, double* out_scores);

/*
 * The same for power-law scores. All importances are checked before the first
 * score is written.
 *
 * Returns RECOLVA_INVALID_ARGUMENT if count is negative, scale_ms, exponent or any
 * importance out of range, or an input array missing; RECOLVA_NULL_OUTPUT if
 * out_scores is missing.
 */
int32_t DecayScorePowerLawBatch(const int64_t* last_accessed, const double* importance, int64_t count,
                                int64_t now, int64_t scale_ms, double exponent, double* out_scores);

/* ---- Lines of a JSONL store --------------------------------------------- */

/*
 * Reads, scores and decides the memories in a block of a JSONL file: lines like
 *
 *   {"id": "unique-memory-id", "last_accessed_ms": 87400000, "importance": 0.8}
 *
 * with exactly these field names. (importance is read for RECOLVA_POWER_LAW only;
 * other fields are skipped.) A line is valid under the rules of recolva's command
 * and Python package: strict RFC 8259, valid UTF-8, at most 64 MiB.
 *
 * Input:
 *   data, length      the block, which begins at the start of a line. A byte order
 *                     mark at the start of a file is the caller's to skip
 *   at_end            not 0: the file ends with this block, so that a last line
 *                     without newline is a line
 *   model             RECOLVA_EXPONENTIAL or RECOLVA_POWER_LAW
 *   parameters        parameter_count numbers, the model's parameters in the order
 *                     given at its name
 *   now, threshold
 *   capacity          the number of elements of each of the following arrays
 *
 * Output, one element for each memory in order (offsets are into data):
 *   line_start, line_end   the line with its line end
 *   id_start, id_end       the id as it stands between its quotes, escapes and all
 *   last_accessed          in milliseconds
 *   score
 *   prune                  1 if score < threshold, else 0
 *
 * Output, always set on RECOLVA_OK:
 *   records     number of memories, that is, of elements filled
 *   blanks      number of lines of white space, which are no memories
 *   consumed    offset of the first byte that was not dealt with
 *   bad_line    0, or the number of the line at consumed, which is not valid,
 *               counted from 1 within the block, blank lines included
 *
 * The scan stops when capacity memories have been found, at a line that is not
 * valid, or when no whole line is left. The caller then goes on at data + consumed:
 * with emptied arrays in the first case, with more data after the rest in the last.
 *
 * Returns RECOLVA_INVALID_ARGUMENT if length, parameter_count or capacity is
 * negative, the model unknown, the number or a value of the parameters or the
 * threshold wrong, or data or parameters missing; RECOLVA_NULL_OUTPUT if an output
 * is NULL. (data may be NULL if length is 0, the arrays if capacity is 0.)
 */
int32_t RecolvaScanBlock(const uint8_t* data, int64_t length, int32_t at_end,
                         int32_t model, const double* parameters, int32_t parameter_count,
                         int64_t now, double threshold, int64_t capacity,
                         int64_t* line_start, int64_t* line_end, int64_t* id_start, int64_t* id_end,
                         int64_t* last_accessed, double* score, uint8_t* prune,
                         int64_t* records, int64_t* blanks, int64_t* consumed, int64_t* bad_line);

#ifdef __cplusplus
}
#endif

#endif /* RECOLVA_H */
