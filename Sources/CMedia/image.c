#include "CMediaImage.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <vips/vips.h>

struct TroikaImage {
  VipsImage *image;
  VipsRegion *region;
  TroikaImageInfo info;
};

static pthread_once_t started = PTHREAD_ONCE_INIT;
static int start_result = -1;

static void ignore_log(
    const gchar *domain, GLogLevelFlags level, const gchar *text, gpointer data) {
  (void)domain, (void)level, (void)text, (void)data;
}

static void start(void) {
  g_log_set_handler("VIPS", G_LOG_LEVEL_MASK | G_LOG_FLAG_RECURSION, ignore_log, NULL);
  start_result = VIPS_INIT("troika");
  if (start_result) return;
  vips_concurrency_set(1);
  vips_cache_set_max(0);
  vips_cache_set_max_mem(0);
  vips_cache_set_max_files(0);
}

/// Takes what libvips left behind as the reason.
static void take_error(char *error, size_t capacity) {
  char *all = vips_error_buffer_copy();
  g_strstrip(all);
  g_strlcpy(error, *all ? all : "its structure is broken", capacity);
  g_free(all);
}

static VipsImage *load(
    const uint8_t *bytes, size_t length, TroikaImageLoader loader, int options) {
  VipsImage *out = NULL;
  void *data = (void *)bytes;
  VipsAccess access = VIPS_ACCESS_SEQUENTIAL;
  VipsFailOn strict = loader == TROIKA_IMAGE_JPEG ? VIPS_FAIL_ON_WARNING : VIPS_FAIL_ON_ERROR;
  VipsFailOn fail_on = options & TROIKA_IMAGE_LENIENT ? VIPS_FAIL_ON_NONE : strict;
  int n = options & TROIKA_IMAGE_ALL_FRAMES ? -1 : 1;
  int failed = -1;
  switch (loader) {
    case TROIKA_IMAGE_JPEG:
      failed = vips_jpegload_buffer(data, length, &out, "access", access, "fail_on", fail_on, NULL);
      break;
    case TROIKA_IMAGE_PNG:
      failed = vips_pngload_buffer(
        data, length, &out, "access", access, "fail_on", fail_on, "unlimited", TRUE, NULL);
      break;
    case TROIKA_IMAGE_WEBP:
      failed = vips_webpload_buffer(
        data, length, &out, "access", access, "fail_on", fail_on, "n", n, NULL);
      break;
    case TROIKA_IMAGE_GIF:
      failed = vips_gifload_buffer(
        data, length, &out, "access", access, "fail_on", fail_on, "n", n, NULL);
      break;
    case TROIKA_IMAGE_TIFF:
      failed = vips_tiffload_buffer(data, length, &out, "access", access, "fail_on", fail_on, NULL);
      break;
    case TROIKA_IMAGE_HEIF:
      failed = vips_heifload_buffer(data, length, &out, "access", access, "fail_on", fail_on, NULL);
      break;
  }
  return failed ? NULL : out;
}

/// Brings colour spaces other than gray, RGB and CMYK to sRGB.
static VipsImage *plain_colour(VipsImage *image) {
  VipsImage *out = NULL;
  switch (image->Type) {
    case VIPS_INTERPRETATION_LAB:
    case VIPS_INTERPRETATION_LABS:
    case VIPS_INTERPRETATION_LABQ:
    case VIPS_INTERPRETATION_XYZ:
    case VIPS_INTERPRETATION_scRGB:
      if (vips_colourspace(image, &out, VIPS_INTERPRETATION_sRGB, NULL)) out = NULL;
      g_object_unref(image);
      return out;
    default:
      return image;
  }
}

static void describe(TroikaImage *self) {
  VipsImage *image = self->image;
  TroikaImageInfo *info = &self->info;
  int bands = image->Bands;
  int cmyk = image->Type == VIPS_INTERPRETATION_CMYK && bands >= 4;
  info->width = image->Xsize;
  info->height = vips_image_get_page_height(image);
  info->orientation = vips_image_get_orientation(image);
  info->pages = vips_image_get_n_pages(image);
  info->bands = bands;
  info->colour_bands = cmyk ? 4 : (bands >= 3 ? 3 : 1);
  info->has_alpha = bands > info->colour_bands;
  info->bytes_per_sample = image->BandFmt == VIPS_FORMAT_USHORT ? 2 : 1;
  const void *icc = NULL;
  size_t length = 0;
  if (vips_image_get_typeof(image, VIPS_META_ICC_NAME) &&
      vips_image_get_blob(image, VIPS_META_ICC_NAME, &icc, &length) == 0) {
    info->icc = icc;
    info->icc_length = length;
  }
}

TroikaImage *troika_image_open(
    const uint8_t *bytes, size_t length, TroikaImageLoader loader, int options,
    char *error, size_t error_capacity) {
  pthread_once(&started, start);
  if (start_result) {
    g_strlcpy(error, "libvips did not start", error_capacity);
    return NULL;
  }
  vips_error_clear();
  VipsImage *image = load(bytes, length, loader, options);
  if (image) image = plain_colour(image);
  if (image && (image->Coding != VIPS_CODING_NONE ||
      (image->BandFmt != VIPS_FORMAT_UCHAR && image->BandFmt != VIPS_FORMAT_USHORT))) {
    vips_error("image", "samples are neither 8 nor 16 bits unsigned integers");
    g_object_unref(image);
    image = NULL;
  }
  if (!image) {
    take_error(error, error_capacity);
    vips_error_clear();
    vips_thread_shutdown();
    return NULL;
  }
  TroikaImage *self = calloc(1, sizeof *self);
  if (!self) {
    g_object_unref(image);
    g_strlcpy(error, "out of memory", error_capacity);
    return NULL;
  }
  self->image = image;
  describe(self);
  return self;
}

TroikaImageInfo troika_image_info(const TroikaImage *self) { return self->info; }

int troika_image_delay(const TroikaImage *self, int index) {
  int *delays = NULL, count = 0;
  if (!vips_image_get_typeof(self->image, "delay") ||
      vips_image_get_array_int(self->image, "delay", &delays, &count)) {
    return 0;
  }
  return index >= 0 && index < count ? delays[index] : 0;
}

/// Gives `alpha` as one 8-bit band.
static VipsImage *alpha_to_8_bits(VipsImage *image, int band) {
  VipsImage *alpha = NULL, *scaled = NULL, *rounded = NULL, *out = NULL;
  if (vips_extract_band(image, &alpha, band, NULL)) return NULL;
  if (alpha->BandFmt == VIPS_FORMAT_UCHAR) return alpha;
  if (vips_linear1(alpha, &scaled, 1.0 / 257.0, 0.0, NULL) == 0 &&
      vips_rint(scaled, &rounded, NULL) == 0) {
    vips_cast_uchar(rounded, &out, NULL);
  }
  if (alpha) g_object_unref(alpha);
  if (scaled) g_object_unref(scaled);
  if (rounded) g_object_unref(rounded);
  return out;
}

int troika_image_apply_profile(TroikaImage *self, char *error, size_t error_capacity) {
  VipsImage *colour = NULL, *managed = NULL, *alpha = NULL, *joined = NULL;
  int colours = self->info.colour_bands;
  vips_error_clear();
  int failed = vips_extract_band(self->image, &colour, 0, "n", colours, NULL);
  failed = failed || vips_icc_transform(
    colour, &managed, "srgb", "embedded", TRUE, "depth", 8,
    "intent", VIPS_INTENT_PERCEPTUAL, NULL);
  // A profile that does not fit is skipped by the import with a warning; the result then is
  // not a picture in sRGB.
  failed = failed || managed->Bands != 3 || managed->BandFmt != VIPS_FORMAT_UCHAR;
  if (!failed && self->info.has_alpha) {
    alpha = alpha_to_8_bits(self->image, colours);
    failed = !alpha || vips_bandjoin2(managed, alpha, &joined, NULL);
  }
  if (failed) {
    take_error(error, error_capacity);
    vips_error_clear();
  } else {
    VipsImage *result = joined ? joined : managed;
    g_object_ref(result);
    // The profile bytes belong to the source, which the result keeps alive.
    g_object_unref(self->image);
    self->image = result;
    self->info.colour_bands = 3;
    self->info.bands = result->Bands;
    self->info.bytes_per_sample = 1;
    self->info.icc = NULL;
    self->info.icc_length = 0;
  }
  if (colour) g_object_unref(colour);
  if (managed) g_object_unref(managed);
  if (alpha) g_object_unref(alpha);
  if (joined) g_object_unref(joined);
  return failed ? -1 : 0;
}

int troika_image_read_rows(
    TroikaImage *self, int top, int rows, uint8_t *out, char *error, size_t error_capacity) {
  if (!self->region) self->region = vips_region_new(self->image);
  VipsRect rect = {0, top, self->image->Xsize, rows};
  if (!self->region || vips_region_prepare(self->region, &rect)) {
    take_error(error, error_capacity);
    vips_error_clear();
    return -1;
  }
  size_t stride = VIPS_IMAGE_SIZEOF_LINE(self->image);
  for (int row = 0; row < rows; row++) {
    memcpy(out + (size_t)row * stride, VIPS_REGION_ADDR(self->region, 0, top + row), stride);
  }
  return 0;
}

void troika_image_close(TroikaImage *self) {
  if (!self) return;
  if (self->region) g_object_unref(self->region);
  g_object_unref(self->image);
  free(self);
  vips_error_clear();
  vips_thread_shutdown();
}
