/* SPDX-License-Identifier: Apache-2.0 */
#include "device/fake/gradus-fake.h"
#include "gradus-test-device.h"
#include "gradus-test-train.h"

#include <string.h>

#define BYTES 64

/* Two streams, two blocks and an event on a device that complains. */
typedef struct
{
  GradusDevice *device;
  GradusStream *a, *b;
  GradusEvent  *event;
  char         *memory;
  char          host[BYTES], back[BYTES];
} Fixture;

static void
fixture_set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError)       error = NULL;
  g_autoptr (GradusDevice) inner = gradus_device_open ("ref", 1, &error);

  f->device = gradus_fake_device_new (inner, 3);
  f->a = f->device->funcs->stream_new (f->device, &error);
  f->b = f->device->funcs->stream_new (f->device, &error);
  f->event = f->device->funcs->event_new (f->device, &error);
  f->memory = f->device->funcs->allocate (f->device, BYTES, &error);
  g_assert_no_error (error);
  memset (f->host, 7, BYTES);
}

static void
fixture_tear_down (Fixture *f, gconstpointer data)
{
  const GradusDeviceFuncs *funcs = f->device->funcs;

  g_assert_true (funcs->synchronise (f->device, f->a, NULL));
  g_assert_true (funcs->synchronise (f->device, f->b, NULL));
  funcs->event_free (f->device, f->event);
  funcs->stream_free (f->device, f->a);
  funcs->stream_free (f->device, f->b);
  if (f->memory != NULL)
    funcs->deallocate (f->device, f->memory, BYTES);
  g_assert_cmpuint (gradus_fake_device_left (f->device), ==, 0);
  gradus_device_unref (f->device);
}

static void
assert_fault (Fixture *f, const char *part)
{
  g_autofree char *faults = gradus_fake_device_faults (f->device);

  if (part == NULL)
    g_assert_cmpstr (faults, ==, NULL);
  else
    {
      g_assert_nonnull (faults);
      g_assert_nonnull (strstr (faults, part));
    }
}

static void
upload (Fixture *f, GradusStream *stream)
{
  g_assert_true (f->device->funcs->upload (f->device, stream, f->memory, f->host, BYTES, NULL));
}

static void
download (Fixture *f, GradusStream *stream)
{
  g_assert_true (f->device->funcs->download (f->device, stream, f->back, f->memory, BYTES, NULL));
}

static void
test_nothing_before_synchronise (Fixture *f, gconstpointer data)
{
  upload (f, f->a);
  download (f, f->a);
  g_assert_cmpint (f->back[0], !=, 7);
  g_assert_true (f->device->funcs->synchronise (f->device, f->a, NULL));
  g_assert_cmpmem (f->back, BYTES, f->host, BYTES);
  assert_fault (f, NULL);
}

static void
test_event_orders_streams (Fixture *f, gconstpointer data)
{
  upload (f, f->a);
  g_assert_true (f->device->funcs->event_record (f->device, f->event, f->a, NULL));
  g_assert_true (f->device->funcs->event_wait (f->device, f->event, f->b, NULL));
  download (f, f->b);
  g_assert_true (f->device->funcs->synchronise (f->device, f->b, NULL));
  g_assert_cmpmem (f->back, BYTES, f->host, BYTES);
  assert_fault (f, NULL);
}

static void
test_synchronisation_orders_streams (Fixture *f, gconstpointer data)
{
  upload (f, f->a);
  g_assert_true (f->device->funcs->synchronise (f->device, f->a, NULL));
  download (f, f->b);
  assert_fault (f, NULL);
}

static void
test_race_is_a_fault (Fixture *f, gconstpointer data)
{
  upload (f, f->a);
  download (f, f->b);
  assert_fault (f, "download on stream 1 and upload on stream 0");
}

/* Waiting for an event of before is no order for what came after. */
static void
test_early_event_is_no_order (Fixture *f, gconstpointer data)
{
  g_assert_true (f->device->funcs->event_record (f->device, f->event, f->a, NULL));
  upload (f, f->a);
  g_assert_true (f->device->funcs->event_wait (f->device, f->event, f->b, NULL));
  download (f, f->b);
  assert_fault (f, "in no order");
}

static void
test_changed_host_memory_is_a_fault (Fixture *f, gconstpointer data)
{
  upload (f, f->a);
  f->host[3] = 1;
  g_assert_true (f->device->funcs->synchronise (f->device, f->a, NULL));
  assert_fault (f, "changed before it was copied");
}

static void
test_early_deallocation_is_a_fault (Fixture *f, gconstpointer data)
{
  char *other = f->device->funcs->allocate (f->device, BYTES, NULL);

  g_assert_true (f->device->funcs->upload (f->device, f->a, other, f->host, BYTES, NULL));
  g_assert_true (f->device->funcs->synchronise (f->device, f->a, NULL));
  f->device->funcs->deallocate (f->device, other, BYTES);
  assert_fault (f, NULL);
  /* The commands are gone before the memory is: only what was noted is looked at. */
  other = f->device->funcs->allocate (f->device, BYTES, NULL);
  g_assert_true (f->device->funcs->event_record (f->device, f->event, f->a, NULL));
  f->device->funcs->deallocate (f->device, other, BYTES + 1);
  assert_fault (f, "not allocated so");
  f->device->funcs->deallocate (f->device, other, BYTES);
}

static void
test_foreign_addresses_are_faults (Fixture *f, gconstpointer data)
{
  g_assert_true (f->device->funcs->upload (f->device, f->a, f->back, f->host, BYTES, NULL));
  assert_fault (f, "not the device's");
  g_assert_true (f->device->funcs->upload (f->device, f->a, f->memory + 8, f->host, BYTES, NULL));
  assert_fault (f, "pass the end");
}

static const char net[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}},"
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 5, \"activation\": \"relu\"}},"
    "{\"class_name\": \"Dropout\", \"config\": {\"name\": \"d\", \"rate\": 0.25}},"
    "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"n\"}},"
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"b\", \"units\": 3}}]}}";
static const char options[] =
    "{\"compile\": {\"optimizer\": \"adam\", \"loss\": {\"class_name\": \"SparseCategoricalCrossentropy\","
    " \"config\": {\"from_logits\": true}}, \"metrics\": [\"accuracy\"]},"
    " \"fit\": {\"epochs\": 1, \"clip\": {\"global_norm\": 1.0}}, \"log\": {\"histograms_every\": 2}}";

/* Trains on @device; what went wrong, or NULL. */
static GError *
train (GradusDevice *device, GradusTestObserver *observer)
{
  GError                          *error = NULL;
  g_autoptr (GradusModel)          model = gradus_test_model (net);
  g_autoptr (GradusTrainerOptions) opts = gradus_test_options (options);
  g_autoptr (GradusTestSource)     source = gradus_test_source_new (20, 4, 3, 8, 1, TRUE);
  g_autoptr (GradusTestSource)     validation = gradus_test_source_new (9, 4, 3, 8, 2, FALSE);
  g_autoptr (GradusTrainer)        trainer = NULL;
  GradusTrainerConfig              config = {
                 .model = model,
                 .options = opts,
                 .device = device,
                 .train = &source->parent,
                 .validation = &validation->parent,
                 .observer = &observer->parent,
                 .seed = 5,
  };

  trainer = gradus_trainer_new (&config, &error);
  if (trainer != NULL && gradus_trainer_run (trainer, &error) == GRADUS_RUN_FAILED)
    g_assert_nonnull (error);
  return error;
}

/* Each call fails once, in turn: the run fails with the device's own words, and gives all back. Only
 * where it had its results already, and was giving back, does it not fail. */
static void
test_every_call_fails_once (void)
{
  g_autoptr (GradusTestObserver) plain = gradus_test_observer_new ();
  guint64                        n_calls = 1, n_late = 0;

  for (guint64 fail = 0; fail <= n_calls; fail++)
    {
      g_autoptr (GradusDevice)       inner = gradus_device_open ("cpu", 2, NULL);
      GradusDevice                  *device = gradus_fake_device_new (inner, fail);
      g_autoptr (GradusTestObserver) observer = gradus_test_observer_new ();
      g_autoptr (GError)             error = NULL;

      gradus_fake_device_fail (device, fail);
      error = train (device, observer);
      if (fail == 0)
        {
          g_assert_no_error (error);
          n_calls = gradus_fake_device_calls (device);
          g_test_message ("%" G_GUINT64_FORMAT " calls can fail", n_calls);
          g_assert_null (train (inner, plain));
        }
      else if (error == NULL)
        {
          gradus_test_assert_same (plain, observer);
          n_late++;
        }
      else
        g_assert_nonnull (strstr (error->message, "on demand"));
      gradus_test_device_close (device);
    }
  g_assert_cmpuint (n_calls, >, 100);
  g_assert_cmpuint (n_late, <=, 2); /* the executions of training and of validation */
}

/* The same numbers whatever the order, and those of a device that does everything at once. */
static void
test_order_changes_nothing (void)
{
  g_autoptr (GradusTestObserver) plain = gradus_test_observer_new ();
  g_autoptr (GradusDevice)       inner = gradus_device_open ("cpu", 2, NULL);

  g_assert_null (train (inner, plain));
  for (guint64 seed = 0; seed < 5; seed++)
    {
      g_autoptr (GradusTestObserver) observer = gradus_test_observer_new ();
      GradusDevice                  *device = gradus_fake_device_new (inner, seed);

      g_assert_null (train (device, observer));
      gradus_test_assert_same (plain, observer);
      gradus_test_device_close (device);
    }
}

typedef struct
{
  GradusDevice    *device;
  gint64           step;
  GradusFakeCounts first, last;
} Counting;

static void
count_cb (gpointer data, const char *name, gint64 step)
{
  Counting *self = data;

  if (!g_str_equal (name, "train/loss"))
    return;
  if (step == 1)
    self->first = gradus_fake_device_counts (self->device);
  self->last = gradus_fake_device_counts (self->device);
  self->step = step;
}

/* After the first step nothing is allocated, and the host waits as often in every step. */
static void
test_no_allocation_in_a_step (void)
{
  g_autoptr (GradusDevice)       inner = gradus_device_open ("cpu", 2, NULL);
  g_autoptr (GradusTestObserver) observer = gradus_test_observer_new ();
  Counting                       counting = { .device = gradus_fake_device_new (inner, 1) };

  observer->on_scalar = count_cb;
  observer->data = &counting;
  g_assert_null (train (counting.device, observer));
  g_assert_cmpint (counting.step, ==, 3);
  g_assert_cmpuint (counting.last.allocations, ==, counting.first.allocations);
  g_assert_cmpuint (counting.last.deallocations, ==, counting.first.deallocations);
  gradus_test_device_close (counting.device);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*func) (Fixture *f, gconstpointer data);
  } tests[] = {
    { "nothing-before-synchronise", test_nothing_before_synchronise },
    { "event-orders-streams", test_event_orders_streams },
    { "synchronisation-orders-streams", test_synchronisation_orders_streams },
    { "race-is-a-fault", test_race_is_a_fault },
    { "early-event-is-no-order", test_early_event_is_no_order },
    { "changed-host-memory-is-a-fault", test_changed_host_memory_is_a_fault },
    { "early-deallocation-is-a-fault", test_early_deallocation_is_a_fault },
    { "foreign-addresses-are-faults", test_foreign_addresses_are_faults },
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    {
      g_autofree char *path = g_strconcat ("/fake/", tests[i].name, NULL);

      g_test_add (path, Fixture, NULL, fixture_set_up, tests[i].func, fixture_tear_down);
    }
  g_test_add_func ("/fake/every-call-fails-once", test_every_call_fails_once);
  g_test_add_func ("/fake/order-changes-nothing", test_order_changes_nothing);
  g_test_add_func ("/fake/no-allocation-in-a-step", test_no_allocation_in_a_step);
  return g_test_run ();
}
