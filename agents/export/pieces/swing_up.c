/* Pumps the energy up to that of rest upright, where the law `upright` takes over; see SwingUp. */
static void torque(const sight *now, real u[3])
{
    const real *omega = now->omega;
    real up[3], hinge[3] = {0, 0, 0}, swing[3], turn[3], across, along, lack, push;
    const real most = FMAX(LIMITS[0], LIMITS[1]);
    int i;
    vertical(now->q, up);
    across = SQRT(up[0] * up[0] + up[1] * up[1]);
    hinge[0] = across > (real)1e-6 ? up[1] / across : (real)1;
    hinge[1] = across > (real)1e-6 ? -up[0] / across : (real)0;
    along = dot(omega, hinge);
    for (i = 0; i < 3; i++) { turn[i] = dot(INERTIA[i], omega); }
    lack = (real)1 - dot(omega, turn) / (real)2 / MGL - up[2];
    for (i = 0; i < 3; i++) {
        swing[i] = along * hinge[i];
        push = PUSH * lack * (FABS(along) < (real)0.05 ? hinge[i] : swing[i]);
        u[i] = clipped(push, (real)1) * most - INERTIA[0][0] * (omega[i] - swing[i]) / TIME;
    }
    u[2] = -INERTIA[2][2] * omega[2] / TIME;
    for (i = 0; i < 3; i++) { u[i] = clipped(u[i], LIMITS[i]); }
    if (up[2] > NEAR) { upright(now, u); }
}
