void rbgym_begin(rbgym_memory *memory)
{
    memory->begun = 0;
}

/* Of what is no finite number comes no command: zeros, and no memory. */
void rbgym_act(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    int i, finite = 1;
    for (i = 0; i < OBSERVATIONS; i++)
        finite = finite && isfinite(observation[i]);
    if (finite)
        answer(memory, observation, action);
    for (i = 0; finite && i < ACTIONS; i++)
        finite = isfinite(action[i]) != 0;
    for (i = 0; !finite && i < ACTIONS; i++)
        action[i] = 0;
    memory->begun = finite;
}
