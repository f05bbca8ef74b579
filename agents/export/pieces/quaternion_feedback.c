/* The rate [rad/s] about the unit axis e from which the law brakes within the limits. */
static real slew(const real e[3])
{
    real a = acceleration(e), c = gyroscopic_load(e);
    real r = (real)2 * a / (BRAKING + SQRT(BRAKING * BRAKING + (real)4 * c * a * a));
    return FMIN(FMIN(r, SQRT((real)0.5 / FMAX(c, (real)1e-12))), FASTEST);
}

/* Limits the error, so that the body coasts at that rate; see QuaternionFeedback. */
static void torque(const sight *now, real u[3])
{
    real v[3], e[3], coupling[3] = {0, 0, 0}, size, part;
    int i;
    nearer(now->q, v);
    size = FMAX(direction(v, e), (real)1e-12);
    part = FMIN(LINEAR * slew(e) / size, (real)1);
    for (i = 0; i < 3; i++) { v[i] *= part; }
    turning(v, now->omega, now->wanted, now->swing, u);
    if (GYROSCOPIC != 0) { add_gyroscopic_torque(now->omega, coupling); }
    limit_sum(coupling, u);
}
