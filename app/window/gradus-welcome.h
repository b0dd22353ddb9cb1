/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* What the first start shows: the examples as cards, and how to open a recipe of one's own. A card
 * activates "app.open-example". */
#define GRADUS_TYPE_WELCOME (gradus_welcome_get_type ())
G_DECLARE_FINAL_TYPE (GradusWelcome, gradus_welcome, GRADUS, WELCOME, GtkWidget)

/**
 * GradusExample:
 * @name: of its recipe, "fashion-cnn"
 * @title, @line, @size, @minutes: what its card says, to be translated
 */
typedef struct
{
  const char *name;
  const char *title;
  const char *line;
  const char *size;
  const char *minutes;
} GradusExample;

/* Ends with a NULL name. */
const GradusExample *gradus_welcome_get_examples (void);
/* The file of an example's recipe; NULL if there is no such example. Free with g_free. */
char *gradus_welcome_find_example (const char *name);

G_END_DECLS
