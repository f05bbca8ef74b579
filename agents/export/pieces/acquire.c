/* P = F P F^T. */
static void carry(real F[6][6], real *P)
{
    real FP[6][6];
    int i, j, k;
    for (i = 0; i < 6; i++) {
        for (j = 0; j < 6; j++) {
            FP[i][j] = (real)0;
            for (k = 0; k < 6; k++) { FP[i][j] += F[i][k] * P[6 * k + j]; }
        }
    }
    for (i = 0; i < 6; i++) {
        for (j = 0; j < 6; j++) {
            P[6 * i + j] = (real)0;
            for (k = 0; k < 6; k++) { P[6 * i + j] += FP[i][k] * F[j][k]; }
        }
    }
}

/* A frame with x along a and y along the part of b across a; its unit axes as columns. */
static void axes_of(const real a[3], const real b[3], real columns[3][3])
{
    real x[3], y[3] = {0, 0, 0}, z[3] = {0, 0, 0};
    int i;
    add_cross(a, b, z);
    (void)direction(a, x);
    (void)direction(z, z);
    add_cross(z, x, y);
    for (i = 0; i < 3; i++) {
        columns[i][0] = x[i];
        columns[i][1] = y[i];
        columns[i][2] = z[i];
    }
}

/* The attitude in which v points along r and w lies in the plane of r and s: TRIAD. */
static void triad(const real v[3], const real w[3], const real r[3], const real s[3], real q[4])
{
    real body[3][3], world[3][3], m[3][3], four[4][4], t, size = (real)0;
    int i, j, k, n = 0;
    axes_of(v, w, body);
    axes_of(r, s, world);
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) { m[i][j] = dot(world[i], body[j]); }
    }
    t = m[0][0] + m[1][1] + m[2][2];
    four[0][0] = (real)1 + t;
    for (i = 0; i < 3; i++) {
        j = (i + 1) % 3;
        k = (i + 2) % 3;
        four[0][1 + i] = four[1 + i][0] = m[k][j] - m[j][k];
        for (j = 0; j < 3; j++) {
            four[1 + i][1 + j] = m[i][j] + m[j][i] + (i == j ? (real)1 - t : (real)0);
        }
    }
    for (i = 1; i < 4; i++) { n = four[i][i] > four[n][n] ? i : n; }
    for (i = 0; i < 4; i++) { size += four[n][i] * four[n][i]; }
    for (i = 0; i < 4; i++) { q[i] = four[n][i] / SQRT(size); }
}

/* Propagates attitude and covariance over a control period in which the body turns by a. */
static void turn_on(rbgym_memory *memory, const real a[3])
{
    real F[6][6] = {0}, G[3][3], A[3], axis[3], then[4], size, half, rest, GG;
    const real one[4] = {1, 0, 0, 0};
    real turn[4], *P = memory->covariance;
    int i, j, k;
    ahead(one, a, 1, turn);
    size = direction(a, axis);
    half = size < (real)1e-2 ? (real)1 - size * size / (real)24
                             : (real)2 * SIN(size / (real)2) / size;
    rest = size < (real)1e-2 ? (real)1 / (real)6 - size * size / (real)120
                             : (size - SIN(size)) / (size * size * size);
    for (j = 0; j < 3; j++) {
        real e[3] = {0, 0, 0}, once[3] = {0, 0, 0}, twice[3] = {0, 0, 0};
        e[j] = 1;
        add_cross(a, e, once);
        add_cross(a, once, twice);
        rotate(turn, -1, e, A);
        for (i = 0; i < 3; i++) {
            G[i][j] = e[i] - half * half / (real)2 * once[i] + rest * twice[i];
            F[i][j] = A[i];
            F[i][3 + j] = -DT * G[i][j];
        }
        F[3 + j][3 + j] = 1;
    }
    carry(F, P);
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            GG = (real)0;
            for (k = 0; k < 3; k++) { GG += G[i][k] * G[j][k]; }
            P[6 * i + j] += OF_TURN * GG;
            P[6 * i + 3 + j] += OF_BOTH * G[i][j];
            P[6 * (3 + i) + j] += OF_BOTH * G[j][i];
        }
        P[6 * (3 + i) + 3 + i] += OF_BIAS;
    }
    ahead(memory->attitude, a, 1, then);
    size = SQRT(then[0] * then[0] + dot(then + 1, then + 1));
    for (i = 0; i < 4; i++) { memory->attitude[i] = then[i] / size; }
}

/* Corrects attitude and bias by a direction v, body axes, which is r in the world, one number after
   the other. Returns 1 for a stray reading, which corrects nothing. */
static int correct(rbgym_memory *memory, const real v[3], const real r[3], real variance)
{
    real p[3], P[36], F[6][6], k[6], x[6] = {0, 0, 0, 0, 0, 0}, then[4], size = (real)0;
    real of_reading, off;
    int i, j, axis;
    rotate(memory->attitude, -1, r, p);
    for (i = 0; i < 36; i++) { P[i] = memory->covariance[i]; }
    for (axis = 0; axis < 3; axis++) {
        real e[3] = {0, 0, 0}, h[3] = {0, 0, 0};
        e[axis] = 1;
        add_cross(e, p, h);
        of_reading = variance;
        off = v[axis] - p[axis] - dot(h, x);
        for (i = 0; i < 6; i++) { k[i] = dot(P + 6 * i, h); }
        of_reading += dot(h, k);
        size += off * off / of_reading;
        for (i = 0; i < 6; i++) {
            k[i] /= of_reading;
            x[i] += k[i] * off;
            for (j = 0; j < 6; j++) {
                F[i][j] = (i == j ? (real)1 : (real)0) - (j < 3 ? k[i] * h[j] : (real)0);
            }
        }
        carry(F, P);
        for (i = 0; i < 6; i++) {
            for (j = 0; j < 6; j++) { P[6 * i + j] += variance * k[i] * k[j]; }
        }
    }
    if (!(size <= STRAY)) { return 1; }
    for (i = 0; i < 36; i++) { memory->covariance[i] = P[i]; }
    ahead(memory->attitude, x, 1, then);
    size = SQRT(then[0] * then[0] + dot(then + 1, then + 1));
    for (i = 0; i < 4; i++) { memory->attitude[i] = then[i] / size; }
    for (i = 0; i < 3; i++) { memory->bias[i] += x[3 + i]; }
    return 0;
}

/* The rates minus the bias of the gyros, and the Sun; returns whether it is seen. The memory holds
   the attitude, once it is found. See Acquiring. */
static int acquire(rbgym_memory *memory, const real *observation, real omega[3], real sun[3])
{
    const real *B = observation + FIELD_SEEN, *field = observation + FIELD_REFERENCE;
    const real *away = observation + SUN_REFERENCE;
    real a[3], across[3] = {0, 0, 0};
    int i, lit = find_sun(observation, sun), strays = 0;
    if (memory->started != 0 && memory->known[0] > (real)0) {
        for (i = 0; i < 3; i++) {
            a[i] = (observation[MEASURED + i] * RATE_LIMIT - memory->bias[i]) * DT;
        }
        turn_on(memory, a);
    } else {
        memory->known[0] = memory->doubt[0] = 0;
        for (i = 0; i < 36; i++) {
            memory->covariance[i] = i % 7 != 0 ? (real)0 : (i < 21 ? OF_FIRST : OF_FIRST_BIAS);
        }
        for (i = 0; i < 4; i++) { memory->attitude[i] = i == 0 ? (real)1 : (real)0; }
        for (i = 0; i < 3; i++) { memory->bias[i] = 0; }
        add_cross(sun, B, across);
        if (lit != 0 && dot(across, across) > APART * APART * dot(B, B)) {
            triad(B, sun, field, away, memory->attitude);
            memory->known[0] = 1;
        }
    }
    if (memory->known[0] > (real)0) {
        strays = correct(memory, B, field, OF_FIELD);
        if (lit != 0) { strays += correct(memory, sun, away, OF_SUN); }
        memory->doubt[0] = strays != 0 ? memory->doubt[0] + (real)1 : (real)0;
        memory->known[0] = memory->doubt[0] < DOUBTS ? (real)1 : (real)0;
    }
    for (i = 0; i < 3; i++) {
        omega[i] = memory->rate[i] = observation[MEASURED + i] * RATE_LIMIT - memory->bias[i];
    }
    return lit;
}

/* A control period without a sample: propagates attitude, covariance and the field that a law
   remembers by the last rate. Returns 0 after too many such periods. */
static int miss(rbgym_memory *memory)
{
    real a[3];
    int i;
#ifdef DAMPING
    const real one[4] = {1, 0, 0, 0};
    real turn[4], field[3];
#endif
    memory->doubt[0] += (real)1;
    for (i = 0; i < 3; i++) { a[i] = memory->rate[i] * DT; }
    if (memory->known[0] > (real)0) { turn_on(memory, a); }
#ifdef DAMPING
    ahead(one, a, 1, turn);
    rotate(turn, -1, memory->field, field);
    for (i = 0; i < 3; i++) { memory->field[i] = field[i]; }
#endif
    return memory->doubt[0] < DOUBTS ? 1 : 0;
}
