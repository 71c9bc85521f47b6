/* SPDX-License-Identifier: MIT
 * slow_disk BELOW PLACE MILLISECONDS: the folder BELOW again at PLACE, each of whose writes takes
 * that long, one after the other. Says "mounted" when it is, ends when it is unmounted. */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const char *below;
static struct timespec delay;
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

static char *real_path(char buffer[PATH_MAX], const char *path)
{
    snprintf(buffer, PATH_MAX, "%s%s", below, path);
    return buffer;
}

static int result(long value)
{
    return value < 0 ? -errno : (int)value;
}

static int slow_getattr(const char *path, struct stat *stat_, struct fuse_file_info *info)
{
    char real[PATH_MAX];

    return result(info ? fstat((int)info->fh, stat_) : lstat(real_path(real, path), stat_));
}

static int slow_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    char real[PATH_MAX];
    struct dirent *entry;

    (void)offset;
    (void)info;
    (void)flags;
    DIR *stream = opendir(real_path(real, path));
    if (!stream)
        return -errno;
    while ((entry = readdir(stream)))
        fill(buffer, entry->d_name, NULL, 0, 0);
    closedir(stream);
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
    char real[PATH_MAX];
    int fd = open(real_path(real, path), info->flags);

    info->fh = (uint64_t)fd;
    return fd < 0 ? -errno : 0;
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    char real[PATH_MAX];
    int fd = open(real_path(real, path), info->flags | O_CREAT, mode);

    info->fh = (uint64_t)fd;
    return fd < 0 ? -errno : 0;
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    return result(close((int)info->fh));
}

static int slow_read(const char *path, char *bytes, size_t size, off_t offset,
                     struct fuse_file_info *info)
{
    (void)path;
    return result(pread((int)info->fh, bytes, size, offset));
}

static int slow_write(const char *path, const char *bytes, size_t size, off_t offset,
                      struct fuse_file_info *info)
{
    (void)path;
    pthread_mutex_lock(&disk);
    nanosleep(&delay, NULL);
    pthread_mutex_unlock(&disk);
    return result(pwrite((int)info->fh, bytes, size, offset));
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    char real[PATH_MAX];

    return result(info ? ftruncate((int)info->fh, size) : truncate(real_path(real, path), size));
}

static int slow_mkdir(const char *path, mode_t mode)
{
    char real[PATH_MAX];

    return result(mkdir(real_path(real, path), mode));
}

static int slow_rmdir(const char *path)
{
    char real[PATH_MAX];

    return result(rmdir(real_path(real, path)));
}

static int slow_unlink(const char *path)
{
    char real[PATH_MAX];

    return result(unlink(real_path(real, path)));
}

static int slow_rename(const char *from, const char *to, unsigned flags)
{
    char real_from[PATH_MAX], real_to[PATH_MAX];

    return flags ? -EINVAL : result(rename(real_path(real_from, from), real_path(real_to, to)));
}

static int slow_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    char real[PATH_MAX];

    (void)info;
    return result(chmod(real_path(real, path), mode));
}

static int slow_fallocate(const char *path, int mode, off_t offset, off_t size,
                          struct fuse_file_info *info)
{
    (void)path;
    return result(fallocate((int)info->fh, mode, offset, size));
}

static int slow_statfs(const char *path, struct statvfs *stat_)
{
    (void)path;
    return result(statvfs(below, stat_));
}

static void *say_mounted(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    puts("mounted");
    fflush(stdout);
    return NULL;
}

static const struct fuse_operations operations = {
    .init = say_mounted,
    .getattr = slow_getattr,
    .readdir = slow_readdir,
    .open = slow_open,
    .create = slow_create,
    .release = slow_release,
    .read = slow_read,
    .write = slow_write,
    .truncate = slow_truncate,
    .mkdir = slow_mkdir,
    .rmdir = slow_rmdir,
    .unlink = slow_unlink,
    .rename = slow_rename,
    .chmod = slow_chmod,
    .fallocate = slow_fallocate,
    .statfs = slow_statfs,
};

int main(int argc, char **argv)
{
    char foreground[] = "-f";
    char *arguments[] = {argv[0], foreground, argc == 4 ? argv[2] : NULL, NULL};

    if (argc != 4)
        return 2;
    below = argv[1];
    long ms = atol(argv[3]);
    delay = (struct timespec){ms / 1000, ms % 1000 * 1000000};
    return fuse_main(3, arguments, &operations, NULL);
}
