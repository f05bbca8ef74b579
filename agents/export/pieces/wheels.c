/* c = A^+ (u + omega x A h) + N t, minus the friction of the bearings. u: without the torque of the
   coils, and without its part that speeds the body up when omega x A h nears the limits; t: the
   nearest to k N^T h that keeps each c within its limit. See Allocated. */
static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3], made[3] = {0, 0, 0}, coupling[3] = {0, 0, 0}, body[3] = {0, 0, 0}, h[WHEELS];
    real bearing_torque[WHEELS]; /* torque of the bearings on the body */
    real speed, power, square, taken, t = (real)0, most, low = -INFINITY, high = INFINITY;
    const sight now = look(memory, observation);
    const real *omega = now.omega;
    int i, k;
    torque(&now, u);
#ifdef UNLOADING
    unload(observation, action + WHEELS, made);
#endif
    for (k = 0; k < WHEELS; k++) {
        h[k] = observation[FIRST + k] * MOMENTUM;
        for (i = 0; i < 3; i++) { body[i] += AXES[k][i] * h[k]; }
        speed = h[k] / WHEEL_INERTIA - dot(AXES[k], omega);
        bearing_torque[k] = (COULOMB + VISCOUS * FABS(speed)) * speed / (FABS(speed) + (real)1);
    }
    add_cross(omega, body, coupling);
    taken = FMAX(FMIN((real)2 * load(coupling) - (real)1, (real)1), (real)0);
    power = FMAX(dot(u, omega), (real)0);
    square = dot(omega, omega);
    for (i = 0; i < 3; i++) {
        if (square > (real)0) { u[i] -= taken * power / square * omega[i]; }
        u[i] += coupling[i] - made[i];
#if OUT >= 0
        u[i] -= bearing_torque[OUT] * AXES[OUT][i];
#endif
    }
    for (k = 0; k < WHEELS; k++) {
        action[k] = dot(SHARE[k], u) / MOTOR;
        t += NULL_SPACE[k] * (RATE * h[k] / MOTOR);
    }
    most = FMAX(load(u), (real)1);
    for (k = 0; k < WHEELS; k++) {
        if (FABS(NULL_SPACE[k]) > (real)1e-9) {
            real middle = -action[k] / NULL_SPACE[k], half = most / FABS(NULL_SPACE[k]);
            low = FMAX(low, middle - half);
            high = FMIN(high, middle + half);
        }
    }
    t = FMAX(FMIN(t, FMAX(low, high)), low);
    for (k = 0; k < WHEELS; k++) {
        action[k] = (action[k] + t * NULL_SPACE[k]) / most;
        if (k != OUT) { /* OUT: the wheel that has failed */
            action[k] -= bearing_torque[k] / MOTOR;
        }
        action[k] = clipped(action[k], (real)1);
    }
}
