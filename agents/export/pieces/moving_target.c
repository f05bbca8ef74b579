#define MOVING
static real target_rate[3], target_acceleration[3];
static int begun;

/* To be called where an episode starts: forgets the target's rate of the last period. */
void rbgym_begin(void);

void rbgym_begin(void)
{
    begun = 0;
}

/* turn + a, the target's acceleration [rad/s^2, body axes]: the change of its rate in its own axes
   since the last call, which is a control period ago. */
static void add_acceleration(const real q[4], const real wanted[3], real turn[3])
{
    real rate[3], change[3];
    int i;
    rotate(q, 1, wanted, rate);
    for (i = 0; i < 3; i++) {
        change[i] = begun ? (rate[i] - target_rate[i]) / DT : 0;
        target_rate[i] = rate[i];
    }
    begun = 1;
    rotate(q, -1, change, target_acceleration);
    for (i = 0; i < 3; i++)
        turn[i] += target_acceleration[i];
}
