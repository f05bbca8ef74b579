/* The desired rate [rad/s] at the remaining angle y [rad] about the unit axis e. */
static real curve(real y, const real e[3])
{
    real a = FMIN(BRAKING * acceleration(e), (real)1e9), c = FMAX(gyroscopic_load(e), (real)1e-12);
    real f = y <= a * H * H ? y / H : (SQRT(a * H * a * H + (real)8 * a * y) - a * H) / (real)2;
    real square = FMIN(-EXPM1(-c * f * f) / c, (real)0.5 / c);
    return FMIN(SQRT(square), FASTEST);
}

/* u = omega x J omega - s J (omega + f e) / h, f the desired rate; see BangBang. */
static void torque(const sight *now, real u[3])
{
    real then[4], v[3], e[3], coupling[3] = {0, 0, 0}, f;
    int i;
    ahead(now->q, now->omega, H, then);
    nearer(then, v);
    f = FMIN(direction(v, e), (real)1);
    f = curve((real)2 * ASIN(f), e);
    for (i = 0; i < 3; i++) { u[i] = -(dot(INERTIA[i], now->omega) + f * dot(INERTIA[i], e)) / H; }
    add_gyroscopic_torque(now->omega, coupling);
    limit_sum(coupling, u);
}
