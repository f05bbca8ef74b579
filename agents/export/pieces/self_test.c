#ifdef RBGYM_SELF_TEST
#include <stdio.h>
#if defined RBGYM_NO_FMA
#define TOLERANCE TOLERANCE_ROUNDED
#elif defined RBGYM_DOUBLE
#define TOLERANCE TOLERANCE_DOUBLE
#else
#define TOLERANCE TOLERANCE_FLOAT
#endif

/* Observations of an episode, and the answers of `predict`. */
static const float SEEN[VECTORS][OBSERVATIONS] = @SEEN@;
static const float ANSWERS[VECTORS][ACTIONS] = @ANSWERS@;

/* Compares the answers. With any argument it answers the observations on its input instead. */
int main(int argc, char **argv)
{
    real observation[OBSERVATIONS], action[ACTIONS];
    rbgym_memory memory;
    double worst = 0, off, number;
    int n = 1, i = 0, wrong = 0;
    (void)argv;
    rbgym_begin(&memory);
    while (argc > 1 && (n = scanf("%lf", &number)) == 1) {
        observation[i++] = (real)number;
        if (i < OBSERVATIONS) { continue; }
        rbgym_act(&memory, observation, action);
        for (i = 0; i < ACTIONS; i++) {
            printf("%.17g%c", (double)action[i], i + 1 < ACTIONS ? ' ' : '\n');
        }
        i = 0;
    }
    if (argc > 1) { return n == 0 || i > 0; } /* what is no number, or a part of a row */
    for (n = 0; n < VECTORS; n++) {
        for (i = 0; i < OBSERVATIONS; i++) { observation[i] = SEEN[n][i]; }
        rbgym_act(&memory, observation, action);
        for (i = 0; i < ACTIONS; i++) {
            off = fabs((double)action[i] - (double)ANSWERS[n][i]);
            worst = fmax(worst, off);
            wrong += !(off <= TOLERANCE); /* nan counts as wrong */
        }
    }
    printf("%d vectors, largest difference %.3g of a full command\n", VECTORS, worst);
    return wrong > 0;
}
#endif
