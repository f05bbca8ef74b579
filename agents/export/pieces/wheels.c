/* c = A^+ (u + omega x A h) + k N N^T h, and the friction of the bearings; see Allocated. */
void rbgym_act(const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3], omega[3], body[3] = {0, 0, 0}, h[ACTIONS], factor;
    int i, k;
    law(observation, u);
    for (k = 0; k < ACTIONS; k++) {
        h[k] = observation[FIRST + k] * MOMENTUM;
        for (i = 0; i < 3; i++)
            body[i] += AXES[k][i] * h[k];
    }
    for (i = 0; i < 3; i++)
        omega[i] = observation[4 + i] * RATE_LIMIT;
    add_cross(omega, body, u);
    for (k = 0; k < ACTIONS; k++) {
        action[k] = dot(SHARE[k], u);
        for (i = 0; i < ACTIONS; i++)
            action[k] += IDLE[k][i] * h[i];
        action[k] /= MOTOR;
    }
    factor = shortening(action, ACTIONS);
    for (k = 0; k < ACTIONS; k++) {
        real speed = h[k] / WHEEL_INERTIA - dot(AXES[k], omega);
        real size = COULOMB + VISCOUS * fabs(speed);
        real c = action[k] * factor - size * speed / (fabs(speed) + 1) / MOTOR;
        action[k] = clipped(c, 1);
    }
}
