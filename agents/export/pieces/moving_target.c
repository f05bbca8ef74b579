#define FOLLOWS

/* The target's acceleration: the change of its rate in its own axes since the last call, a control
   period ago. */
static void follow(sight *now)
{
    rbgym_memory *memory = now->memory;
    real rate[3], change[3];
    int i;
    rotate(now->q, 1, now->wanted, rate);
    for (i = 0; i < 3; i++) {
        change[i] = (memory->started != 0) ? (rate[i] - memory->target_rate[i]) / DT : (real)0;
        memory->target_rate[i] = rate[i];
    }
    rotate(now->q, -1, change, now->swing);
}
