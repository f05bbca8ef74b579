void rbgym_begin(rbgym_memory *memory)
{
    memory->begun = 0;
    memory->timed = 0;
}

/* A control period without a sample. What finds attitudes keeps its own going, until as many have
   followed each other as it takes to doubt one; all else is forgotten. */
static void lose(rbgym_memory *memory)
{
#ifdef DOUBTS
    memory->begun = memory->begun != 0 && miss(memory) != 0 ? 1 : 0;
#else
    memory->begun = 0;
#endif
}

/* Commands within +-1, or zeros where a number is not finite; whether all are. */
static int step(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    int i, seen = 1, good;
    for (i = 0; i < OBSERVATIONS; i++) { seen = seen != 0 && isfinite(observation[i]) ? 1 : 0; }
    if (seen != 0) { answer(memory, observation, action); }
    good = seen;
    for (i = 0; good != 0 && i < ACTIONS; i++) { good = isfinite(action[i]) ? 1 : 0; }
    for (i = 0; i < ACTIONS; i++) { action[i] = good != 0 ? clipped(action[i], (real)1) : (real)0; }
    if (seen != 0) {
        memory->begun = good;
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
    if (isfinite(time) && fabs(since) > PATIENCE) { /* whether the clock or the sample is wrong */
        status = RBGYM_JUMP;
        memory->begun = 0;
        memory->time = time;
    } else if (isfinite(time) && since > 0.5) {
        const double rounded = since + 0.5;
        const int periods = (int)rounded;
        for (i = 1; i < periods; i++) { lose(memory); }
        status = step(memory, observation, action) != 0 ? RBGYM_GOOD : RBGYM_BAD;
        memory->timed = 1;
        memory->time = time;
    } else {
        /* stale: nothing is commanded, and what is missing is lost with the next sample */
    }
    return status;
}
