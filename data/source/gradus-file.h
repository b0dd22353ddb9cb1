/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-error.h"

G_BEGIN_DECLS

/**
 * GradusFile:
 *
 * A regular file opened for reading at any place, by any thread. Once open it stays readable when
 * it is renamed or unlinked; when it is cut short, reading fails (a mapping would end the process).
 */
typedef struct
{
  char  *path;
  int    fd;
  gint64 size;
} GradusFile;

/* Fails with GRADUS_ERROR_NOT_FOUND, _REFUSED (a folder, a pipe) or _IO. */
gboolean gradus_file_open (GradusFile *self, const char *path, GError **error);
void     gradus_file_close (GradusFile *self);
/* All @n bytes from @offset on, or an error that names the byte. */
gboolean gradus_file_read (GradusFile *self, gint64 offset, void *out, gsize n, GError **error);
/* Adds the content to @checksum by the rule of gradus_source_fingerprint(). */
gboolean gradus_file_fingerprint (GradusFile *self, GChecksum *checksum, GError **error);

/**
 * GradusGunzip:
 *
 * The content of a gzip file as a stream, one or several members, checksums verified.
 */
typedef struct _GradusGunzip GradusGunzip;

/* Whether the file starts as gzip does; its name does not matter. */
gboolean gradus_file_is_gzip (GradusFile *self);
/* @file is borrowed. */
GradusGunzip *gradus_gunzip_new (GradusFile *file);
void          gradus_gunzip_free (GradusGunzip *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusGunzip, gradus_gunzip_free)
/* Up to @n bytes; @got is less only at the end. Fails with GRADUS_ERROR_REFUSED naming the byte of
 * the compressed file where it is damaged or ends too early. */
gboolean
gradus_gunzip_read (GradusGunzip *self, void *out, gsize n, gsize *got, GError **error);

/* The most that @compressed bytes of deflate can unpack to. */
gint64 gradus_gunzip_bound (gint64 compressed);

G_END_DECLS
