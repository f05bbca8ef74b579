/* c = A^+ (u + omega x A h) + N t, u without what speeds the body up as omega x A h nears the
   limits, t the nearest to k N^T h that keeps each c within its limit, and the friction of the
   bearings; see Allocated. */
static void answer(const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3], omega[3], coupling[3] = {0, 0, 0}, body[3] = {0, 0, 0}, h[ACTIONS];
    real power, square, load = 0, t = 0, most = 1, low = -INFINITY, high = INFINITY;
    int i, k;
    law(observation, u);
    for (k = 0; k < ACTIONS; k++) {
        h[k] = observation[FIRST + k] * MOMENTUM;
        for (i = 0; i < 3; i++)
            body[i] += AXES[k][i] * h[k];
    }
    for (i = 0; i < 3; i++)
        omega[i] = observation[4 + i] * RATE_LIMIT;
    add_cross(omega, body, coupling);
    for (i = 0; i < FACETS; i++)
        load = fmax(load, fabs(dot(ENVELOPE[i], coupling)));
    power = fmax(dot(u, omega), 0);
    square = dot(omega, omega);
    for (i = 0; i < 3; i++) {
        if (square > 0)
            u[i] -= fmax(fmin(2 * load - 1, 1), 0) * power / square * omega[i];
        u[i] += coupling[i];
    }
    for (k = 0; k < ACTIONS; k++) {
        action[k] = dot(SHARE[k], u) / MOTOR;
        t += NULL_SPACE[k] * (RATE * h[k] / MOTOR);
    }
    for (i = 0; i < FACETS; i++)
        most = fmax(most, fabs(dot(ENVELOPE[i], u)));
    for (k = 0; k < ACTIONS; k++) {
        if (fabs(NULL_SPACE[k]) > (real)1e-9) {
            real middle = -action[k] / NULL_SPACE[k], half = most / fabs(NULL_SPACE[k]);
            low = fmax(low, middle - half);
            high = fmin(high, middle + half);
        }
    }
    t = fmax(fmin(t, fmax(low, high)), low);
    for (k = 0; k < ACTIONS; k++) {
        real speed = h[k] / WHEEL_INERTIA - dot(AXES[k], omega);
        real size = COULOMB + VISCOUS * fabs(speed);
        real c = (action[k] + t * NULL_SPACE[k]) / most - size * speed / (fabs(speed) + 1) / MOTOR;
        action[k] = clipped(c, 1);
    }
}
