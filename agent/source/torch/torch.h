/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_H
#define TP_TORCH_TORCH_H

/*
 * Source "torch": every operator of every thread, seen through torch's RecordFunction, without a
 * header of torch and without a line changed in the program.
 *
 *   torch.c      state, registering with torch, what the agent calls
 *   audit.c      noticing that torch was loaded
 *   observe.c    what runs at the begin and end of each operator
 *   thread.c     a thread's caches and open operators
 *   names.c      operator name -> id
 *   inputs.c     inputs -> shapes id, concrete inputs id
 *   fast.h       the halves of those two that run at every operator
 *   describe.c decimal.c   their texts
 *   layout.c     first guesses where torch keeps its fields
 *   calibrate.c  finding where it really keeps them: when, and by whom
 *   probe.c      ... from Python: small CPU tensors and a handful of operators
 *   search.c     ... in the records of those operators
 *   samples.c    ... in those tensors
 *   python.c safecopy.c   the interpreter by dlsym; reading from addresses that may be wrong
 *
 * Names and times are recorded from the first operator on. The rest follows as soon as calibration
 * has run, which needs one quiet moment of the interpreter; operators before that are counted and
 * flagged.
 */

#include <stdbool.h>
#include <stdint.h>

enum tp_torch_shapes {
    TP_TORCH_SHAPES_OFF,
    TP_TORCH_SHAPES_SIZES, /* sizes and types of tensors */
    TP_TORCH_SHAPES_ALL,   /* and strides, and the values of scalars */
};

struct tp_torch_options {
    enum tp_torch_shapes shapes;
    /* Runs @run(@argument) on a thread of the agent's own, detached, signals blocked; false when it
     * cannot. The rare work that takes locks of the libc or of the interpreter goes there, not on
     * the drain. NULL: such work is left undone. */
    bool (*make_thread)(void *(*run)(void *), void *argument);
};

enum tp_torch_state {
    TP_TORCH_OFF,     /* not started */
    TP_TORCH_WAITING, /* no torch in the process yet */
    TP_TORCH_NAMES,   /* names and times; calibration has not run yet */
    TP_TORCH_FULL,    /* calibrated, see fields */
    TP_TORCH_FAILED,  /* names and times only, for good */
    TP_TORCH_ABSENT,  /* torch is there but lacks what registering needs */
};

/* What a recording says about this source. */
struct tp_torch_report {
    enum tp_torch_state state;
    char version[32];         /* torch.__version__, empty when unknown */
    uint32_t fields;          /* enum tp_torch_has, what is read */
    uint32_t missing;         /* what this configuration wanted and could not find */
    uint32_t differs;         /* what was found elsewhere than the table guessed */
    uint32_t attempts;        /* calibrations that ran */
    const char *reason;       /* static text: why calibration waits or failed, or NULL */
    uint64_t without_details; /* operators recorded before calibration */
    uint64_t ended_elsewhere; /* operators whose end came out of order or on another thread;
                                 recorded as ending with the operator around them */
    uint64_t too_deep;        /* operators not recorded, nested too deeply */
};

/**
 * tp_torch_start - get ready to notice torch; registers at once when it is mapped already
 * @options: copied
 *
 * Context: start; best before the interpreter starts, an audit hook can be installed only then.
 * Return: 0, or -ENOMEM when there is no memory for the threads' caches (they are then done
 * without).
 */
int tp_torch_start(const struct tp_torch_options *options);

/**
 * tp_torch_poll - look for torch, and see to it that calibration gets its turn
 *
 * For programs without Python, and for threads that keep the interpreter from noticing; about once
 * a second.
 *
 * Context: drain.
 */
void tp_torch_poll(void);

/** tp_torch_stop - observe nothing from now on; what torch holds stays valid. Context: any thread.
 */
void tp_torch_stop(void);

/** tp_torch_fork_child - forget the parent's other threads and name ids. Context: fork child. */
void tp_torch_fork_child(void);

/** tp_torch_thread_exit - give back the calling thread's caches; takes being called twice. Context:
 * thread end. */
void tp_torch_thread_exit(void);

/** tp_torch_report - what is recorded and what is not. Context: any. */
void tp_torch_report(struct tp_torch_report *ret_report);

#endif
