/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/gradus-program-private.h"

#include <string.h>

guint
gradus_op_n_attrs (const GradusOp *op)
{
  guint n = 0;

  while (op->attrs != NULL && op->attrs[n].name != NULL)
    n++;
  return n;
}

static gboolean
parse_int (const char *text, gint64 *value)
{
  char *end;

  if (*text == '\0')
    return FALSE;
  *value = g_ascii_strtoll (text, &end, 10);
  return *end == '\0';
}

static gboolean
parse_ints (const char *text, GradusAttr *attr)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  attr->ints.n = 0;
  for (guint i = 0; parts[i] != NULL; i++)
    {
      if (i >= G_N_ELEMENTS (attr->ints.v) || !parse_int (parts[i], &attr->ints.v[i]))
        return FALSE;
      attr->ints.n++;
    }
  return TRUE;
}

gboolean
gradus_attr_parse (const GradusAttrSpec *spec, const char *text, GradusAttr *attr)
{
  char *end;

  memset (attr, 0, sizeof *attr);
  attr->type = spec->type;
  switch (spec->type)
    {
    case GRADUS_ATTR_INT:
      return parse_int (text, &attr->i);
    case GRADUS_ATTR_FLOAT:
      attr->f = g_ascii_strtod (text, &end);
      return *text != '\0' && *end == '\0';
    case GRADUS_ATTR_INTS:
      return *text == '\0' || parse_ints (text, attr);
    case GRADUS_ATTR_STRING:
      attr->s = g_intern_string (text);
      return TRUE;
    default:
      return FALSE;
    }
}

GradusAttr *
gradus_op_default_attrs (const GradusOp *op)
{
  guint       n = gradus_op_n_attrs (op);
  GradusAttr *attrs = g_new0 (GradusAttr, MAX (n, 1));

  for (guint i = 0; i < n; i++)
    if (!gradus_attr_parse (&op->attrs[i], op->attrs[i].fallback, &attrs[i]))
      g_assert_not_reached ();
  return attrs;
}

gboolean
gradus_attr_equal (const GradusAttr *a, const GradusAttr *b)
{
  if (a->type != b->type)
    return FALSE;
  switch (a->type)
    {
    case GRADUS_ATTR_INT:
      return a->i == b->i;
    case GRADUS_ATTR_FLOAT:
      return memcmp (&a->f, &b->f, sizeof a->f) == 0;
    case GRADUS_ATTR_INTS:
      return a->ints.n == b->ints.n
             && memcmp (a->ints.v, b->ints.v, a->ints.n * sizeof a->ints.v[0]) == 0;
    case GRADUS_ATTR_STRING:
      return a->s == b->s;
    default:
      return FALSE;
    }
}

void
gradus_attr_print (const GradusAttr *attr, GString *string)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  switch (attr->type)
    {
    case GRADUS_ATTR_INT:
      g_string_append_printf (string, "%" G_GINT64_FORMAT, attr->i);
      break;
    case GRADUS_ATTR_FLOAT:
      g_string_append (string, g_ascii_formatd (buffer, sizeof buffer, "%.9g", attr->f));
      break;
    case GRADUS_ATTR_INTS:
      for (guint i = 0; i < attr->ints.n; i++)
        g_string_append_printf (string, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", attr->ints.v[i]);
      break;
    case GRADUS_ATTR_STRING:
      g_string_append (string, attr->s);
      break;
    default:
      g_assert_not_reached ();
    }
}

static const GradusAttr *
find_attr (const GradusNode *node, const char *name, GradusAttrType type)
{
  for (guint i = 0; node->op->attrs != NULL && node->op->attrs[i].name != NULL; i++)
    if (strcmp (node->op->attrs[i].name, name) == 0)
      return node->op->attrs[i].type == type ? &node->attrs[i] : NULL;
  return NULL;
}

gint64
gradus_node_int (const GradusNode *node, const char *name)
{
  const GradusAttr *attr = find_attr (node, name, GRADUS_ATTR_INT);

  g_return_val_if_fail (attr != NULL, 0);
  return attr->i;
}

double
gradus_node_float (const GradusNode *node, const char *name)
{
  const GradusAttr *attr = find_attr (node, name, GRADUS_ATTR_FLOAT);

  g_return_val_if_fail (attr != NULL, 0);
  return attr->f;
}

const char *
gradus_node_string (const GradusNode *node, const char *name)
{
  const GradusAttr *attr = find_attr (node, name, GRADUS_ATTR_STRING);

  g_return_val_if_fail (attr != NULL, "");
  return attr->s;
}

const gint64 *
gradus_node_ints (const GradusNode *node, const char *name, guint *n)
{
  const GradusAttr *attr = find_attr (node, name, GRADUS_ATTR_INTS);

  if (n != NULL)
    *n = 0;
  g_return_val_if_fail (attr != NULL, NULL);
  if (n != NULL)
    *n = attr->ints.n;
  return attr->ints.v;
}
