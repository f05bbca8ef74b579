#include <math.h>

#ifdef RBGYM_DOUBLE
typedef double real;
@DOUBLE@
#else
typedef float real;
@FLOAT@
#endif

/* The memory of a policy. started: whether there was a control period before. time [s]: of the last
   sample; timed: whether it had a time. */
typedef struct {
    int started, timed;
    double time;@MEMORY@
} rbgym_memory;

/* The result of a sample. GOOD: commands. All others give zeros. BAD: a number is not finite.
   STALE: the sample is less than half a control period newer than the last, or its time is not
   finite. JUMP: its time is more than PATIENCE control periods away from the last. */
typedef enum { RBGYM_GOOD, RBGYM_BAD, RBGYM_STALE, RBGYM_JUMP } rbgym_status;

/* Call it at the start of an episode or of the control. */
void rbgym_begin(rbgym_memory *memory);

/* observation: as in the table above; action: the commands, each within +-1, and zeros if a number
   of the observation is not finite. Use a separate memory for each body. */
void rbgym_act(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS]);

/* The same for a sample at a time [s] of one clock. Missing control periods before it count as bad
   samples. After a jump the memory restarts with the next sample. */
rbgym_status rbgym_act_at(rbgym_memory *memory, double time, const real observation[OBSERVATIONS],
                          real action[ACTIONS]);
