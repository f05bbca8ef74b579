static sight look(rbgym_memory *memory, const real *observation)
{
    sight now = {observation, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, memory};
    int i;
    for (i = 0; i < 3; i++) {
        now.omega[i] = observation[RATES + i] * RATE_LIMIT;
#if COLUMNS > 7
        now.wanted[i] = observation[COLUMNS - 3 + i] * RATE_LIMIT;
#endif
    }
#ifdef FOLLOWS
    follow(&now);
#endif
    return now;
}
