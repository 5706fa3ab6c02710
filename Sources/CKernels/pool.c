// Worker threads that spin for a moment, then sleep until the next loop.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels.h"

// Longer than what one thread does alone between two loops of a decoder: waking a sleeping thread
// costs several times the loop it is woken for.
#define SPINS 16000

typedef struct {
  tk_pool *pool;
  int index;
  int cpu;
} worker_arguments;

struct tk_pool {
  int threads;
  const tk_kernels *kernels;
  pthread_t *handles;
  worker_arguments *arguments;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  atomic_uint generation;
  atomic_int sleepers;
  atomic_int next;
  atomic_int running;
  atomic_bool closing;
  int count;
  tk_task task;
  void *context;
  // The data that the next loop reads, by worker.
  _Atomic(const char *) nextData;
  atomic_size_t nextStride, nextBytes;
};

_Static_assert(sizeof(tk_processors) == sizeof(cpu_set_t), "as large as the system's own set");

// The pool that ran a loop last: workers of others do not spin, which would keep its own from running.
static _Atomic(const tk_pool *) active;

bool tk_pin_thread(int cpu, tk_processors *before) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  pthread_t self = pthread_self();
  if (before && pthread_getaffinity_np(self, sizeof *before, (cpu_set_t *)before)) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return pthread_setaffinity_np(self, sizeof set, &set) == 0;
}

void tk_unpin_thread(const tk_processors *before) {
  pthread_setaffinity_np(pthread_self(), sizeof *before, (const cpu_set_t *)before);
}

static void work(tk_pool *pool, int worker) {
  for (;;) {
    int index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (index >= pool->count) return;
    pool->task(pool->context, index, worker);
  }
}

/// Fetches what the next loop reads while the caller works alone.
static void fetch(tk_pool *pool, int worker, unsigned seen) {
  const char *data = atomic_load_explicit(&pool->nextData, memory_order_relaxed);
  if (!data) return;
  data += (size_t)worker * atomic_load_explicit(&pool->nextStride, memory_order_relaxed);
  size_t bytes = atomic_load_explicit(&pool->nextBytes, memory_order_relaxed);
  for (size_t i = 0; i < bytes; i += 64) {
    if (i % 1024 == 0 &&
        atomic_load_explicit(&pool->generation, memory_order_relaxed) != seen)
      return;
    __builtin_prefetch(data + i, 0, 2);
  }
}

static void *run_worker(void *raw) {
  worker_arguments *arguments = raw;
  tk_pool *pool = arguments->pool;
  if (arguments->cpu >= 0) tk_pin_thread(arguments->cpu, NULL);
  unsigned seen = 0;
  for (;;) {
    for (int spin = 0; spin < SPINS; spin++) {
      if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) break;
      if (atomic_load_explicit(&active, memory_order_relaxed) != pool) break;
      __builtin_ia32_pause();
    }
    if (atomic_load_explicit(&pool->generation, memory_order_acquire) == seen) {
      pthread_mutex_lock(&pool->mutex);
      atomic_fetch_add(&pool->sleepers, 1);
      while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->wake, &pool->mutex);
      atomic_fetch_sub(&pool->sleepers, 1);
      pthread_mutex_unlock(&pool->mutex);
    }
    if (atomic_load(&pool->closing)) return NULL;
    seen = atomic_load_explicit(&pool->generation, memory_order_acquire);
    work(pool, arguments->index);
    atomic_fetch_sub_explicit(&pool->running, 1, memory_order_release);
    fetch(pool, arguments->index, seen);
  }
}

/// A thread counts itself as a sleeper before it looks at the generation for the last time, and this
/// looks for sleepers after it has changed it: one of them sees the other.
static void announce(tk_pool *pool) {
  atomic_fetch_add(&pool->generation, 1);
  if (atomic_load(&pool->sleepers) == 0) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

tk_pool *tk_pool_create(int threads, const int *cpus) {
  if (threads < 1) return NULL;
  tk_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->handles = calloc((size_t)threads, sizeof *pool->handles);
  pool->arguments = calloc((size_t)threads, sizeof *pool->arguments);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pool->threads = 1;
  pool->kernels = tk_best();
  if (!pool->handles || !pool->arguments) return pool;
  for (int index = 1; index < threads; index++) {
    pool->arguments[index] = (worker_arguments){pool, index, cpus ? cpus[index] : -1};
    if (pthread_create(&pool->handles[index], NULL, run_worker, &pool->arguments[index])) break;
    pool->threads++;
  }
  return pool;
}

void tk_pool_destroy(tk_pool *pool) {
  if (!pool) return;
  atomic_store(&pool->closing, true);
  announce(pool);
  for (int index = 1; index < pool->threads; index++) pthread_join(pool->handles[index], NULL);
  pthread_mutex_destroy(&pool->mutex);
  pthread_cond_destroy(&pool->wake);
  free(pool->handles);
  free(pool->arguments);
  free(pool);
}

void tk_pool_expect(tk_pool *pool, const void *data, size_t stride, size_t bytes) {
  atomic_store_explicit(&pool->nextData, data, memory_order_relaxed);
  atomic_store_explicit(&pool->nextStride, stride, memory_order_relaxed);
  atomic_store_explicit(&pool->nextBytes, bytes, memory_order_relaxed);
}

int tk_pool_threads(const tk_pool *pool) { return pool->threads; }

bool tk_pool_use(tk_pool *pool, const char *name) {
  const tk_kernels *kernels = tk_named(name);
  if (kernels) pool->kernels = kernels;
  return kernels != NULL;
}

const tk_kernels *tk_pool_kernels(const tk_pool *pool) { return pool->kernels; }

void tk_pool_run(tk_pool *pool, int count, tk_task task, void *context) {
  if (count <= 1 || pool->threads == 1) {
    for (int index = 0; index < count; index++) task(context, index, 0);
    return;
  }
  if (atomic_load_explicit(&active, memory_order_relaxed) != pool)
    atomic_store_explicit(&active, pool, memory_order_relaxed);
  pool->task = task;
  pool->context = context;
  pool->count = count;
  atomic_store(&pool->next, 0);
  atomic_store(&pool->running, pool->threads - 1);
  announce(pool);
  work(pool, 0);
  for (int spin = 0; atomic_load_explicit(&pool->running, memory_order_acquire) > 0; spin++) {
    if (spin < SPINS)
      __builtin_ia32_pause();
    else
      sched_yield();
  }
}
