void rbgym_begin(rbgym_memory *memory)
{
    memory->started = 0;
    memory->timed = 0;
}

/* A control period without a sample. A filter that finds the attitude propagates it, for fewer
   than DOUBTS control periods in a row; any other memory is cleared. */
static void lose(rbgym_memory *memory)
{
#ifdef DOUBTS
    memory->started = memory->started != 0 && miss(memory) != 0 ? 1 : 0;
#else
    memory->started = 0;
#endif
}

/* Commands within +-1, or zeros if any number is not finite; returns whether all are finite. */
static int step(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    int i, seen = 1, good;
    for (i = 0; i < OBSERVATIONS; i++) { seen = seen != 0 && isfinite(observation[i]) ? 1 : 0; }
    if (seen != 0) { answer(memory, observation, action); }
    good = seen;
    for (i = 0; good != 0 && i < ACTIONS; i++) { good = isfinite(action[i]) ? 1 : 0; }
    for (i = 0; i < ACTIONS; i++) { action[i] = good != 0 ? clipped(action[i], (real)1) : (real)0; }
    if (seen != 0) {
        memory->started = good;
    } else {
        lose(memory);
    }
    return good;
}

void rbgym_act(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    (void)step(memory, observation, action);
}

rbgym_status rbgym_act_at(rbgym_memory *memory, double time, const real observation[OBSERVATIONS],
                          real action[ACTIONS])
{
    const double since = memory->timed != 0 ? (time - memory->time) / PERIOD : 1.0;
    rbgym_status status = RBGYM_STALE;
    int i;
    for (i = 0; i < ACTIONS; i++) { action[i] = (real)0; }
    if (isfinite(time) && fabs(since) > PATIENCE) { /* the clock or the sample is wrong */
        status = RBGYM_JUMP;
        memory->started = 0;
        memory->timed = 0;
    } else if (isfinite(time) && since > 0.5) {
        const double rounded = since + 0.5;
        const int periods = (int)rounded;
        for (i = 1; i < periods; i++) { lose(memory); }
        status = step(memory, observation, action) != 0 ? RBGYM_GOOD : RBGYM_BAD;
        memory->timed = 1;
        memory->time = time;
    } else {
        /* stale: zeros; the next sample counts the missing control periods */
    }
    return status;
}
