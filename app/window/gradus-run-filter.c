/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#include "gradus-run-filter.h"
#include "gradus-words.h"

typedef enum
{
  TERM_WORD,
  TERM_LESS,
  TERM_LESS_EQUAL,
  TERM_MORE,
  TERM_MORE_EQUAL,
  TERM_EQUAL,
} TermKind;

typedef struct
{
  TermKind     kind;
  char        *word; /* casefolded */
  GradusRunKey key;
  double       value;
} Term;

struct _GradusRunFilter
{
  GArray *terms;
};

static const struct
{
  const char  *name;
  GradusRunKey key;
} keys[] = {
  { "loss", GRADUS_RUN_KEY_LOSS },
  { "accuracy", GRADUS_RUN_KEY_ACCURACY },
  { "test", GRADUS_RUN_KEY_TEST_ACCURACY },
  { "parameters", GRADUS_RUN_KEY_PARAMETERS },
  { "rate", GRADUS_RUN_KEY_RATE },
  { "batch", GRADUS_RUN_KEY_BATCH },
  { "dropout", GRADUS_RUN_KEY_DROPOUT },
  { "epochs", GRADUS_RUN_KEY_EPOCHS },
  { "duration", GRADUS_RUN_KEY_DURATION },
};

double
gradus_run_key_value (GradusRunItem *item, GradusRunKey key)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  const GradusRunDetails *details = gradus_run_item_get_details (item);

  switch (key)
    {
    case GRADUS_RUN_KEY_LOSS:
      return info != NULL ? info->best_validation_loss : NAN;
    case GRADUS_RUN_KEY_ACCURACY:
      return info != NULL ? info->best_validation_accuracy : NAN;
    case GRADUS_RUN_KEY_TEST_ACCURACY:
      return info != NULL ? info->test_accuracy : NAN;
    case GRADUS_RUN_KEY_PARAMETERS:
      return gradus_run_item_get_parameters (item) > 0
               ? (double) gradus_run_item_get_parameters (item)
               : NAN;
    case GRADUS_RUN_KEY_RATE:
      return details != NULL ? details->learning_rate : NAN;
    case GRADUS_RUN_KEY_BATCH:
      return details != NULL && details->batch_size > 0 ? (double) details->batch_size : NAN;
    case GRADUS_RUN_KEY_DROPOUT:
      return details != NULL ? details->dropout : NAN;
    case GRADUS_RUN_KEY_EPOCHS:
      return info != NULL ? info->epochs : NAN;
    case GRADUS_RUN_KEY_DURATION:
      return info != NULL && info->last_time > 0 ? info->last_time / 1000.0 : NAN;
    case GRADUS_RUN_KEY_STARTED:
      return info != NULL ? (double) (info->started > 0 ? info->started : info->created)
                          : HUGE_VAL;
    case GRADUS_RUN_N_KEYS:
    default:
      g_return_val_if_reached (NAN);
    }
}

static void
clear_term (gpointer data)
{
  g_free (((Term *) data)->word);
}

/* "loss<0.25" as much as "loss < 0.25". */
static gboolean
parse_comparison (GMatchInfo *match, Term *term)
{
  static const char *const signs[] = { "", "<", "<=", ">", ">=", "=" };
  g_autofree char *name = g_match_info_fetch (match, 1);
  g_autofree char *sign = g_match_info_fetch (match, 2);
  g_autofree char *value = g_match_info_fetch (match, 3);

  term->kind = TERM_WORD;
  for (guint i = 1; i < G_N_ELEMENTS (signs); i++)
    if (g_str_equal (sign, signs[i]))
      term->kind = (TermKind) i;
  term->value = g_ascii_strtod (value, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (g_ascii_strcasecmp (name, keys[i].name) == 0)
      {
        term->key = keys[i].key;
        return TRUE;
      }

  return FALSE;
}

GradusRunFilter *
gradus_run_filter_new (const char *text)
{
  GradusRunFilter *self = g_new0 (GradusRunFilter, 1);
  g_autoptr (GRegex) regex = g_regex_new ("([a-z]+)\\s*(<=|>=|<|>|=)\\s*([-+.0-9e]+)",
                                          G_REGEX_CASELESS, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  g_autofree char *rest = g_regex_replace_literal (regex, text, -1, 0, " ", 0, NULL);
  g_autofree char *folded = g_utf8_casefold (rest != NULL ? rest : text, -1);
  g_auto (GStrv) words = g_strsplit_set (folded, " \t", -1);

  self->terms = g_array_new (FALSE, TRUE, sizeof (Term));
  g_array_set_clear_func (self->terms, clear_term);

  for (g_regex_match (regex, text, 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL))
    {
      Term term = { 0 };

      if (parse_comparison (match, &term))
        g_array_append_val (self->terms, term);
    }
  for (guint i = 0; words[i] != NULL; i++)
    {
      Term term = { .kind = TERM_WORD };

      if (*words[i] == '\0')
        continue;
      term.word = g_strdup (words[i]);
      g_array_append_val (self->terms, term);
    }

  return self;
}

void
gradus_run_filter_free (GradusRunFilter *self)
{
  g_array_unref (self->terms);
  g_free (self);
}

static gboolean
has_word (GradusRunItem *item, const char *word)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  const GradusRunDetails *details = gradus_run_item_get_details (item);
  g_autofree char *all =
    g_strjoin (" ", gradus_run_item_get_name (item),
               info != NULL ? gradus_words_status (info->status) : "",
               details != NULL ? details->optimizer : "", NULL);
  g_autofree char *folded = g_utf8_casefold (all, -1);

  return strstr (folded, word) != NULL;
}

static gboolean
term_holds (const Term *term, GradusRunItem *item)
{
  double value;

  if (term->kind == TERM_WORD)
    return has_word (item, term->word);

  value = gradus_run_key_value (item, term->key);
  switch (term->kind)
    {
    case TERM_LESS:
      return value < term->value;
    case TERM_LESS_EQUAL:
      return value <= term->value;
    case TERM_MORE:
      return value > term->value;
    case TERM_MORE_EQUAL:
      return value >= term->value;
    case TERM_EQUAL:
      return fabs (value - term->value) <= 1e-9 * fabs (term->value);
    case TERM_WORD:
    default:
      g_return_val_if_reached (TRUE);
    }
}

gboolean
gradus_run_filter_matches (GradusRunFilter *self, GradusRunItem *item)
{
  for (guint i = 0; i < self->terms->len; i++)
    if (!term_holds (&g_array_index (self->terms, Term, i), item))
      return FALSE;

  return TRUE;
}
