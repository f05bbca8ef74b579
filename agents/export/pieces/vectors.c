/* u + a x b */
static void add_cross(const real a[3], const real b[3], real u[3])
{
    u[0] += a[1] * b[2] - a[2] * b[1];
    u[1] += a[2] * b[0] - a[0] * b[2];
    u[2] += a[0] * b[1] - a[1] * b[0];
}

/* The vector x turned by q, or backwards with the sign -1. */
static void rotate(const real q[4], real sign, const real x[3], real turned[3])
{
    real v[3], t[3] = {0, 0, 0}, u[3] = {0, 0, 0};
    int i;
    for (i = 0; i < 3; i++) { v[i] = sign * q[1 + i]; }
    add_cross(v, x, t);
    add_cross(v, t, u);
    for (i = 0; i < 3; i++) { turned[i] = x[i] + (real)2 * (q[0] * t[i] + u[i]); }
}

static real dot(const real a[3], const real b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Scales commands to +-1, without turning them. */
static void shorten(real commands[3])
{
    real largest = (real)1;
    int i;
    for (i = 0; i < 3; i++) { largest = FMAX(largest, FABS(commands[i])); }
    for (i = 0; i < 3; i++) { commands[i] /= largest; }
}

static real clipped(real x, real bound)
{
    return x > bound ? bound : (x < -bound ? -bound : x);
}

/* Scales a torque [N m] to the limits, without turning it. */
static void limit(real u[3])
{
    int i;
    for (i = 0; i < 3; i++) { u[i] = LIMITS[i] > (real)0 ? u[i] / LIMITS[i] : (real)0; }
    shorten(u);
    for (i = 0; i < 3; i++) { u[i] *= LIMITS[i]; }
}

/* Adds omega x J omega [N m], which the body needs to turn steadily. */
static void add_gyroscopic_torque(const real omega[3], real u[3])
{
    real h[3];
    int i;
    for (i = 0; i < 3; i++) { h[i] = dot(INERTIA[i], omega); }
    add_cross(omega, h, u);
}

/* The vector part of q or -q, whichever has a scalar part >= 0. */
static void nearer(const real q[4], real v[3])
{
    int i;
    for (i = 0; i < 3; i++) { v[i] = q[0] < (real)0 ? -q[1 + i] : q[1 + i]; }
}

/* The length of v, and the unit vector e along it. */
static real direction(const real v[3], real e[3])
{
    real size = SQRT(dot(v, v));
    int i;
    for (i = 0; i < 3; i++) { e[i] = v[i] / FMAX(size, (real)1e-12); }
    return size;
}

/* u = J (-k v - d (omega - wanted) + wanted x omega + a) */
static void turning(const real v[3], const real omega[3], const real wanted[3], const real a[3],
                    real u[3])
{
    real turn[3];
    int i;
    for (i = 0; i < 3; i++) { turn[i] = -STIFFNESS * v[i] - DRAG * (omega[i] - wanted[i]) + a[i]; }
    add_cross(wanted, omega, turn);
    for (i = 0; i < 3; i++) { u[i] = dot(INERTIA[i], turn); }
}

/* The torque u as a fraction of the actuator's largest in that direction. */
static real load(const real u[3])
{
    real most = (real)0;
    int i;
    for (i = 0; i < FACETS; i++) { most = FMAX(most, FABS(dot(ENVELOPE[i], u))); }
    return most;
}

/* The largest angular acceleration [rad/s^2] about the unit axis e. */
static real acceleration(const real e[3])
{
    real u[3];
    int i;
    for (i = 0; i < 3; i++) { u[i] = dot(INERTIA[i], e); }
    return (real)1 / FMAX(load(u), (real)1e-9);
}

/* Shortens v, so that half of the torque stops the rate n |v| / z; see AttitudePD. */
static void ease(real v[3])
{
    real e[3], size = FMAX(direction(v, e), (real)1e-12);
    real part = FMIN(DRAG / STIFFNESS * SQRT((real)2 * acceleration(e) / size), (real)1);
    int i;
    for (i = 0; i < 3; i++) { v[i] *= part; }
}

/* The gyroscopic torque of 1 rad/s about the unit axis e, as a fraction of the limits. */
static real gyroscopic_load(const real e[3])
{
    real u[3] = {0, 0, 0};
    add_gyroscopic_torque(e, u);
    return load(u);
}

/* u = whole + s u with the largest s in [0, 1] within the limits; whole is first scaled to at most
   half of them. */
static void limit_sum(real whole[3], real u[3])
{
    real taken = FMAX((real)2 * load(whole), (real)1), s = (real)1, p, g;
    int i;
    for (i = 0; i < 3; i++) { whole[i] /= taken; }
    for (i = 0; i < FACETS; i++) {
        p = dot(ENVELOPE[i], u);
        g = dot(ENVELOPE[i], whole);
        s = FMIN(s, (p < (real)0 ? (real)1 + g : (real)1 - g) / FMAX(FABS(p), (real)1e-30));
    }
    for (i = 0; i < 3; i++) { u[i] = whole[i] + s * u[i]; }
}

/* The observed field B [T]; returns |B|^2 [T^2]. */
static real see_field(const real *observation, real B[3])
{
    int i;
    for (i = 0; i < 3; i++) { B[i] = observation[FIELD_COLUMN + i] * FIELD; }
    return FMAX(dot(B, B), (real)1e-18);
}

/* Commands of coils for the torque u: m = B x u / |B|^2, scaled to +-1 without turning them. */
static void magnetise(real square, const real B[3], const real u[3], real commands[3])
{
    real m[3] = {0, 0, 0};
    int i;
    add_cross(B, u, m);
    for (i = 0; i < 3; i++) { commands[i] = FULL[i] > (real)0 ? m[i] / square / FULL[i] : (real)0; }
    shorten(commands);
}

/* The upward vertical in body axes. */
static void vertical(const real q[4], real up[3])
{
    up[0] = (real)2 * (q[1] * q[3] - q[0] * q[2]);
    up[1] = (real)2 * (q[2] * q[3] + q[0] * q[1]);
    up[2] = (real)1 - (real)2 * (q[1] * q[1] + q[2] * q[2]);
}

/* The attitude so many seconds from now: q o exp(seconds omega). */
static void ahead(const real q[4], const real omega[3], real seconds, real then[4])
{
    real angle = seconds / (real)2 * SQRT(dot(omega, omega)), w = COS(angle);
    real s = seconds / (real)2 * (angle > (real)0 ? SIN(angle) / angle : (real)1);
    real x = s * omega[0], y = s * omega[1], z = s * omega[2];
    then[0] = q[0] * w - q[1] * x - q[2] * y - q[3] * z;
    then[1] = q[0] * x + q[1] * w + q[2] * z - q[3] * y;
    then[2] = q[0] * y - q[1] * z + q[2] * w + q[3] * x;
    then[3] = q[0] * z + q[1] * y - q[2] * x + q[3] * w;
}

/* Scales v from the length sin a to the angle a. */
static void as_angle(real v[3], real cosine)
{
    real sine = SQRT(dot(v, v)), factor = sine > (real)1e-9 ? ATAN2(sine, cosine) / sine : (real)1;
    int i;
    for (i = 0; i < 3; i++) { v[i] *= factor; }
}

/* dV/dz of the potential at the height z of the axis. */
static real slope(real z)
{
#ifdef MGL
    (void)z;
    return MGL;
#else
    real a = (real)1 / (GAP + z);
    return SIGN * ((real)10 * WALL * POW(a, (real)9) - (real)1) * a * a;
#endif
}

/* Makes the first component of q that is not zero positive; q and -q are one attitude. */
static void make_canonical(real *q)
{
    real lead = (real)0;
    int i;
    for (i = 3; i >= 0; i--) { lead = q[i] < (real)0 || q[i] > (real)0 ? q[i] : lead; }
    for (i = 0; i < 4; i++) { q[i] = lead < (real)0 ? -q[i] : q[i]; }
}
