/* The forces of PosePD and the torques about the body axes, as fractions of their limits. */
static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3], F[3], r, speed;
    const real *p = observation + 7, *v = observation + 10;
    const sight now = look(memory, observation);
    int i;
    torque(&now, u);
    r = DISTANCE * SQRT(dot(p, p));
    speed = SQRT(CREEP * CREEP + FORCE_LIMIT / MASS * FMAX(r - NEAR, (real)0));
    speed = FMIN(PACE * r, speed);
    for (i = 0; i < 3; i++) {
        F[i] = MASS * PULL * (-DISTANCE * p[i] / FMAX(r, (real)1e-9) * speed - SPEED * v[i]);
    }
#if COLUMNS > 7
    add_swing(&now, F);
#endif
    for (i = 0; i < 3; i++) {
        action[i] = F[i] / FORCE_LIMIT;
        action[3 + i] = LIMITS[i] > (real)0 ? u[i] / LIMITS[i] : (real)0;
    }
    shorten(action);
}
