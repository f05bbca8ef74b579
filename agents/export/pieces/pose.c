/* Forces of PosePD, and the torque about the body axes, each as a part of its limit. */
static void answer(const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3], F[3], commands[3], r, speed;
    const real *p = observation + 7, *v = observation + 10;
    int i;
    law(observation, u);
    r = DISTANCE * sqrt(dot(p, p));
    speed = sqrt(CREEP * CREEP + FORCE_LIMIT / MASS * fmax(r - NEAR, (real)0));
    speed = fmin(PACE * r, speed);
    for (i = 0; i < 3; i++)
        F[i] = MASS * PULL * (-DISTANCE * p[i] / fmax(r, (real)1e-9) * speed - SPEED * v[i]);
#ifdef MOVING
    add_swing(observation, F);
#endif
    for (i = 0; i < 3; i++) {
        commands[i] = F[i] / FORCE_LIMIT;
        action[3 + i] = LIMITS[i] > 0 ? u[i] / LIMITS[i] : 0;
    }
    for (i = 0; i < 3; i++)
        action[i] = commands[i] * shortening(commands, 3);
}
