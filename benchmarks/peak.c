/* What one core can do at most: independent chains in registers, and arrays read and written.
 *
 * Each function returns a number that depends on all its work, so that none is left out. Vectors of
 * eight doubles; where the processor has narrower registers the compiler splits them.
 */
#include <stddef.h>

typedef double V __attribute__((vector_size(64)));

#define CHAINS 24 /* more than latency times units, fewer than registers */
#define EACH(do) for (int k = 0; k < CHAINS; ++k) { do; }
#define KEEP(v) __asm__ volatile("" : "+v"(v))

static double total(const V *a) {
    double all = 0.0;
    for (int k = 0; k < CHAINS; ++k)
        for (int lane = 0; lane < 8; ++lane) all += a[k][lane];
    return all;
}

static V all(double x) { return (V){x, x, x, x, x, x, x, x}; }

/* 16 flops for each chain and repetition. */
double fused(long repetitions) {
    V a[CHAINS], x = all(0.999999), y = all(1e-6);
    KEEP(x);
    KEEP(y);
    EACH(a[k] = all(1.0 + k))
    for (long r = 0; r < repetitions; ++r) {
#pragma GCC unroll 24
        EACH(a[k] = a[k] * x + y)
    }
    return total(a);
}

/* 8 divisions, or 8 square roots. */
double divided(long repetitions) {
    V a[CHAINS], x = all(1.000001);
    KEEP(x);
    EACH(a[k] = all(1.0 + k))
    for (long r = 0; r < repetitions; ++r) {
#pragma GCC unroll 24
        EACH(a[k] = x / a[k])
    }
    return total(a);
}

static V root(V a) {
#ifdef __AVX512F__
    V b;
    __asm__("vsqrtpd %1, %0" : "=v"(b) : "v"(a));
    return b;
#else
    for (int lane = 0; lane < 8; ++lane) a[lane] = __builtin_sqrt(a[lane]);
    return a;
#endif
}

double rooted(long repetitions) {
    V a[CHAINS];
    EACH(a[k] = all(2.0 + k))
    for (long r = 0; r < repetitions; ++r) {
#pragma GCC unroll 24
        EACH(a[k] = root(a[k]))
    }
    return total(a);
}

/* a = a x + y in place: 8 bytes read and 8 written for each element. */
double streamed(double *a, size_t count, long repetitions, double x, double y) {
    for (long r = 0; r < repetitions; ++r) {
        V *v = (V *)a;
        for (size_t k = 0; k < count / 8; ++k) v[k] = v[k] * x + y;
        __asm__ volatile("" ::: "memory");
    }
    return a[0];
}
