void rbgym_begin(rbgym_memory *memory)
{
    memory->begun = 0;
}

/* Of what is no finite number comes no command: zeros, and no memory. What finds attitudes keeps
   its own going, though, until as many samples in a row were bad as it takes to doubt one. */
void rbgym_act(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    int i, finite = 1, kept = 0;
    for (i = 0; i < OBSERVATIONS; i++)
        finite = finite && isfinite(observation[i]);
    if (finite)
        answer(memory, observation, action);
#ifdef DOUBTS
    else if (memory->begun)
        kept = miss(memory);
#endif
    for (i = 0; finite && i < ACTIONS; i++)
        finite = isfinite(action[i]) != 0;
    for (i = 0; !finite && i < ACTIONS; i++)
        action[i] = 0;
    memory->begun = finite || kept;
}
