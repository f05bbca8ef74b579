/* u + a x b */
static void add_cross(const real a[3], const real b[3], real u[3])
{
    u[0] += a[1] * b[2] - a[2] * b[1];
    u[1] += a[2] * b[0] - a[0] * b[2];
    u[2] += a[0] * b[1] - a[1] * b[0];
}

/* The vector x turned by q, or backwards with the sign -1. */
static void rotate(const real q[4], int sign, const real x[3], real turned[3])
{
    real v[3], t[3] = {0, 0, 0}, u[3] = {0, 0, 0};
    int i;
    for (i = 0; i < 3; i++)
        v[i] = sign * q[1 + i];
    add_cross(v, x, t);
    add_cross(v, t, u);
    for (i = 0; i < 3; i++)
        turned[i] = x[i] + 2 * (q[0] * t[i] + u[i]);
}

static real dot(const real a[3], const real b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The factor that brings n commands within +-1 without turning them. */
static real shortening(const real *commands, int n)
{
    real largest = 1;
    int i;
    for (i = 0; i < n; i++)
        largest = fmax(largest, fabs(commands[i]));
    return 1 / largest;
}

static real clipped(real x, real bound)
{
    return x > bound ? bound : (x < -bound ? -bound : x);
}

/* A torque [N m] within the limits, shortened but not turned. */
static void limit(real u[3])
{
    real commands[3], factor;
    int i;
    for (i = 0; i < 3; i++)
        commands[i] = LIMITS[i] > 0 ? u[i] / LIMITS[i] : 0;
    factor = shortening(commands, 3);
    for (i = 0; i < 3; i++)
        u[i] = commands[i] * factor * LIMITS[i];
}

/* omega x J omega [N m], which the body needs to turn steadily. */
static void add_gyroscopic_torque(const real omega[3], real u[3])
{
    real h[3];
    int i;
    for (i = 0; i < 3; i++)
        h[i] = dot(INERTIA[i], omega);
    add_cross(omega, h, u);
}

/* The upward vertical in body axes. */
static void vertical(const real q[4], real up[3])
{
    up[0] = 2 * (q[1] * q[3] - q[0] * q[2]);
    up[1] = 2 * (q[2] * q[3] + q[0] * q[1]);
    up[2] = 1 - 2 * (q[1] * q[1] + q[2] * q[2]);
}

/* The attitude half a control period from now: q o exp(DT omega / 2). */
static void half_a_period_ahead(const real q[4], const real omega[3], real then[4])
{
    real angle = DT / 4 * sqrt(dot(omega, omega)), w = cos(angle);
    real s = DT / 4 * (angle > 0 ? sin(angle) / angle : 1);
    real x = s * omega[0], y = s * omega[1], z = s * omega[2];
    then[0] = q[0] * w - q[1] * x - q[2] * y - q[3] * z;
    then[1] = q[0] * x + q[1] * w + q[2] * z - q[3] * y;
    then[2] = q[0] * y - q[1] * z + q[2] * w + q[3] * x;
    then[3] = q[0] * z + q[1] * y - q[2] * x + q[3] * w;
}

/* v of length sin a, made as long as the angle a. */
static void as_angle(real v[3], real cosine)
{
    real sine = sqrt(dot(v, v)), factor = sine > (real)1e-9 ? atan2(sine, cosine) / sine : 1;
    int i;
    for (i = 0; i < 3; i++)
        v[i] *= factor;
}

/* dV/dz of the potential at the height z of the axis. */
static real slope(real z)
{
#ifdef MGL
    (void)z;
    return MGL;
#else
    real a = 1 / (GAP + z);
    return SIGN * (10 * WALL * pow(a, (real)9) - 1) * a * a;
#endif
}
