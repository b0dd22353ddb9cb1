/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled into ThreadSanitizer builds only. GLib's mutexes and conditions are futexes inside a
 * library that was not instrumented, so the sanitizer would see neither the locks nor the order
 * they make. These definitions stand before GLib's and are plain pthread objects, made at the
 * first use since a zeroed GMutex is valid. */
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t *
mutex_of (GMutex *mutex)
{
  pthread_mutex_t *made, *before;

  before = g_atomic_pointer_get (&mutex->p);
  if (before != NULL)
    return before;
  made = malloc (sizeof *made);
  pthread_mutex_init (made, NULL);
  if (g_atomic_pointer_compare_and_exchange (&mutex->p, NULL, made))
    return made;
  pthread_mutex_destroy (made);
  free (made);
  return g_atomic_pointer_get (&mutex->p);
}

static pthread_cond_t *
cond_of (GCond *cond)
{
  pthread_condattr_t attributes;
  pthread_cond_t    *made, *before;

  before = g_atomic_pointer_get (&cond->p);
  if (before != NULL)
    return before;
  made = malloc (sizeof *made);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (made, &attributes);
  pthread_condattr_destroy (&attributes);
  if (g_atomic_pointer_compare_and_exchange (&cond->p, NULL, made))
    return made;
  pthread_cond_destroy (made);
  free (made);
  return g_atomic_pointer_get (&cond->p);
}

void
g_mutex_init (GMutex *mutex)
{
  mutex->p = NULL;
}

void
g_mutex_clear (GMutex *mutex)
{
  pthread_mutex_t *made = g_atomic_pointer_get (&mutex->p);

  if (made != NULL)
    pthread_mutex_destroy (made);
  free (made);
  mutex->p = NULL;
}

void
g_mutex_lock (GMutex *mutex)
{
  pthread_mutex_lock (mutex_of (mutex));
}

gboolean
g_mutex_trylock (GMutex *mutex)
{
  return pthread_mutex_trylock (mutex_of (mutex)) == 0;
}

void
g_mutex_unlock (GMutex *mutex)
{
  pthread_mutex_unlock (mutex_of (mutex));
}

void
g_cond_init (GCond *cond)
{
  cond->p = NULL;
}

void
g_cond_clear (GCond *cond)
{
  pthread_cond_t *made = g_atomic_pointer_get (&cond->p);

  if (made != NULL)
    pthread_cond_destroy (made);
  free (made);
  cond->p = NULL;
}

void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  pthread_cond_wait (cond_of (cond), mutex_of (mutex));
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end_time)
{
  struct timespec end = { .tv_sec = end_time / G_USEC_PER_SEC,
                          .tv_nsec = end_time % G_USEC_PER_SEC * 1000 };

  return pthread_cond_timedwait (cond_of (cond), mutex_of (mutex), &end) == 0;
}

void
g_cond_signal (GCond *cond)
{
  pthread_cond_signal (cond_of (cond));
}

void
g_cond_broadcast (GCond *cond)
{
  pthread_cond_broadcast (cond_of (cond));
}
