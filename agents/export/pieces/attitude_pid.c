/* The torque of AttitudePD minus an estimate J e of an unknown torque; see AttitudePID. */
static void torque(const sight *now, real u[3])
{
    rbgym_memory *memory = now->memory;
    real v[3], a[3], e[3] = {0, 0, 0}, coupling[3] = {0, 0, 0};
    int i;
    for (i = 0; memory->started != 0 && i < 3; i++) {
        e[i] = memory->unknown[i] + SUMMING * (now->omega[i] - memory->rate[i]
            - DT * (memory->acceleration[i] + memory->unknown[i]));
    }
    for (i = 0; i < 3; i++) { u[i] = (real)8 * dot(INERTIA[i], e); }
    limit(u);
    for (i = 0; i < 3; i++) {
        memory->unknown[i] = dot(INVERSE[i], u) / (real)8;
        memory->rate[i] = now->omega[i];
        a[i] = now->swing[i] - memory->unknown[i];
    }
    nearer(now->q, v);
    ease(v);
    turning(v, now->omega, now->wanted, a, u);
    add_gyroscopic_torque(now->omega, u);
    limit(u);
    add_gyroscopic_torque(now->omega, coupling);
    for (i = 0; i < 3; i++) {
        memory->acceleration[i] = dot(INVERSE[i], u) - dot(INVERSE[i], coupling);
    }
}
