// Package decay computes how much of a memory is left: a score between 0 and 1
// that falls with the time since the memory was last accessed. This comment is
// the specification of the scores; every other text refers to it.
//
// # Models
//
// There are two, the rows of [Kinds]:
//
//	exponential   score = 2^(-age_ms / half_life_ms)
//	power-law     score = importance * (1 + age_ms / scale_ms)^(-exponent)
//
// The second is also written importance * exp(-exponent * log1p(age_ms / scale_ms)),
// which is the same number. At one half-life the exponential score is 0.5, at two
// 0.25. The power-law score starts at the importance and falls more slowly for
// old memories.
//
// # Time
//
// Times are Unix times in milliseconds, any signed 64-bit integers. No clock is
// read: the caller says what time it is. The age is
//
//	age_ms = max(0, now - last_accessed)
//
// in exact integer arithmetic. It lies in [0, 2^64-1] and never wraps. A time of
// last access in the future gives age 0.
//
// # Rounding
//
// The score is the IEEE 754 binary64 number nearest to the exact real value of
// the formula for the given integers and doubles, ties to even. Subnormal results
// are kept; the smallest results round to 0, which is +0. Thus the score is
// defined by mathematics, not by an algorithm or a library: every language,
// compiler and processor gives the same bits, and a faster implementation can
// never change a score. Rounding to nearest keeps order, so a score never rises
// with age and never falls with importance.
//
// The exponent and the importance are the doubles that are passed, not decimal
// texts that they may have been written as: 0.1 is
// 0.1000000000000000055511151231257827….
//
// Arithmetic on scores (sums, averages) is outside this promise.
//
// # Limits
//
//	half_life_ms   integer in [1000, 315576000000]    one second to ten years
//	scale_ms       integer in [1000, 315576000000]
//	exponent       in [0.1, 10]
//	importance     in [0, 1]
//	threshold      in [0, 1]
//
// The limits themselves are allowed. NaN and the infinities are rejected; -0
// counts as 0, and the score of importance 0 is +0. Parameters are checked once,
// by [Kind.New]; from then on scoring cannot fail. The exponential model does not
// look at the importance at all.
//
// # Decisions
//
// A record is pruned if and only if its score is below the threshold, as doubles
// are compared: equality retains. Hence threshold 0 prunes nothing. A [Decider]
// takes these decisions without computing most scores.
//
// # The kernel
//
// Below the models stand [HalfLife] and [Power], the same mathematics for
// integers of any unit and without the models' limits: a half-life or scale may be
// any integer from 1 to 2^64-1.
//
// They work in integers throughout: 128-bit fixed point with a proven error bound,
// a test whether that bound leaves the rounding open, and exact arithmetic for the
// few values for which it does.
package decay
