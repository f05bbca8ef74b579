/* Of what is no finite number comes no command: zeros. */
void rbgym_act(const real observation[OBSERVATIONS], real action[ACTIONS])
{
    int i, finite = 1;
    for (i = 0; i < OBSERVATIONS; i++)
        finite = finite && isfinite(observation[i]);
    if (finite)
        answer(observation, action);
    for (i = 0; finite && i < ACTIONS; i++)
        finite = isfinite(action[i]) != 0;
    if (finite)
        return;
    for (i = 0; i < ACTIONS; i++)
        action[i] = 0;
#ifdef MOVING
    rbgym_begin();
#endif
}
