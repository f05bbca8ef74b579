#ifdef CELLS
/* Inverts a symmetric matrix, which may be almost singular: hence double. Returns its
   determinant. */
static double invert(double A[3][3], double inverse[3][3])
{
    double determinant = 0.0;
    int i, j;
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            inverse[j][i] = A[(i + 1) % 3][(j + 1) % 3] * A[(i + 2) % 3][(j + 2) % 3]
                            - A[(i + 1) % 3][(j + 2) % 3] * A[(i + 2) % 3][(j + 1) % 3];
        }
    }
    for (i = 0; i < 3; i++) { determinant += A[0][i] * inverse[i][0]; }
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) { inverse[i][j] /= determinant; }
    }
    return determinant;
}
#endif

/* The unit vector to the Sun, body axes; returns whether three cells see it. See sun_direction. */
static int find_sun(const real *observation, real sun[3])
{
    real size;
    double independent = 1.0;
    int i, seen;
#ifdef CELLS
    double square[3][3], inverse[3][3], sum[3], c;
    int lit[CELLS], j, k, pass;
    for (k = 0; k < CELLS; k++) { lit[k] = observation[SUN + k] > (real)0.1 ? 1 : 0; }
    for (pass = 0; pass < 3; pass++) {
        for (i = 0; i < 3; i++) {
            sum[i] = 0.0;
            for (j = 0; j < 3; j++) { square[i][j] = i == j ? 1e-6 : 0.0; }
        }
        for (k = 0; k < CELLS; k++) {
            c = (double)observation[SUN + k];
            for (i = 0; lit[k] != 0 && i < 3; i++) {
                sum[i] += c * (double)NORMALS[k][i];
                for (j = 0; j < 3; j++) {
                    square[i][j] += (double)NORMALS[k][i] * (double)NORMALS[k][j];
                }
            }
        }
        independent = invert(square, inverse);
        for (i = 0; i < 3; i++) {
            c = inverse[i][0] * sum[0] + inverse[i][1] * sum[1] + inverse[i][2] * sum[2];
            sun[i] = (real)c;
        }
        for (k = 0; k < CELLS; k++) { lit[k] = dot(sun, NORMALS[k]) > -(real)1e-6 ? 1 : 0; }
    }
#else
    for (i = 0; i < 3; i++) { sun[i] = observation[SUN + i]; }
#endif
    size = SQRT(dot(sun, sun));
    seen = size > (real)0.5 && independent > 1e-2 ? 1 : 0;
    for (i = 0; i < 3; i++) { sun[i] = seen != 0 ? sun[i] / size : (real)0; }
    return seen;
}
