/* SPDX-License-Identifier: MIT */
/*
 * Everything that a program can say through NVTX, in a fixed order on one thread (and one range
 * that ends on another), checking what NVTX answers. Prints one line when all answers were right.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include <nvtx3/nvToolsExt.h>

static int failures;

#define EXPECT(expression, value)                                                                  \
    do {                                                                                           \
        long long got_ = (long long)(expression);                                                  \
        if (got_ != (value)) {                                                                     \
            printf("%s: %lld, expected %lld\n", #expression, got_, (long long)(value));            \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static nvtxEventAttributes_t plain(const char *text)
{
    nvtxEventAttributes_t a = {0};

    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = text;
    return a;
}

static void nested(void)
{
    char name[16] = "reused";

    EXPECT(nvtxRangePushA("outer"), 0);
    EXPECT(nvtxRangePushA("inner"), 1);
    EXPECT(nvtxRangePop(), 1);
    EXPECT(nvtxRangePushA(name), 1);
    strcpy(name, "other"); /* the same address, another text */
    EXPECT(nvtxRangePushA(name), 2);
    strcpy(name, "othe"); /* a prefix of it */
    EXPECT(nvtxRangePushA(name), 3);
    for (int i = 3; i >= 0; i--)
        EXPECT(nvtxRangePop(), i);
    EXPECT(nvtxRangePop() < 0, 1); /* no range is open */
}

static void odd_names(void)
{
    static char longest[10001], too_long[70001];
    static wchar_t wide_long[3001];

    memset(longest, 'x', sizeof(longest) - 1);
    memset(too_long, 'y', sizeof(too_long) - 1);
    wmemset(wide_long, L'\u03b1', 3000);
    nvtxRangePushA("");
    nvtxRangePushA(NULL);
    nvtxRangePushA("quote \" backslash \\ tab \t newline \n");
    nvtxRangePushA("invalid \xff\xc3 utf-8");
    nvtxRangePushA(longest);
    nvtxRangePushA(too_long);
    nvtxRangePushW(L"\u00fc\u20ac\U0001f600");
    nvtxRangePushW(wide_long);
    nvtxRangePushW(NULL);
    for (int i = 8; i >= 0; i--)
        EXPECT(nvtxRangePop(), i);
}

static void attributes(void)
{
    nvtxEventAttributes_t a = plain("plain");

    EXPECT(nvtxRangePushEx(&a), 0);
    a.category = 7;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff00ff00;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 1.5;
    EXPECT(nvtxRangePushEx(&a), 1);
    a.size = 8; /* an older caller: version, size, category */
    EXPECT(nvtxRangePushEx(&a), 2);
    a = plain("int payload");
    a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    a.payload.llValue = -1; /* only the low half counts */
    EXPECT(nvtxRangePushEx(&a), 3);
    for (int i = 3; i >= 0; i--)
        EXPECT(nvtxRangePop(), i);
    nvtxMarkA("mark");
    nvtxMarkW(L"wide mark");
    a = plain("mark with category");
    a.category = 3;
    nvtxMarkEx(&a);
}

static void domains(void)
{
    nvtxDomainHandle_t one = nvtxDomainCreateA("one"), two = nvtxDomainCreateW(L"two");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(one, "registered");
    nvtxStringHandle_t wide = nvtxDomainRegisterStringW(two, L"wide \u00e9");
    nvtxEventAttributes_t a = plain("text");

    EXPECT(one && two && one != two && registered && wide && registered != wide, 1);
    EXPECT(nvtxRangePushA("default"), 0);
    EXPECT(nvtxDomainRangePushEx(one, &a), 0);
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = registered;
    EXPECT(nvtxDomainRangePushEx(one, &a), 1);
    a.message.registered = wide;
    EXPECT(nvtxDomainRangePushEx(two, &a), 0);
    EXPECT(nvtxDomainRangePop(two), 0);
    EXPECT(nvtxDomainRangePop(two) < 0, 1);
    EXPECT(nvtxDomainRangePop(one), 1);
    EXPECT(nvtxDomainRangePushEx(two, &a), 0);
    EXPECT(nvtxDomainRangePop(one), 0); /* crossing: ends with the range above it */
    EXPECT(nvtxDomainRangePop(two), 0);
    EXPECT(nvtxRangePop(), 0);
    nvtxNameCategoryA(7, "seven");
    nvtxDomainNameCategoryW(one, 8, L"\u00e9ight");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the main one");
    nvtxDomainDestroy(one);
    EXPECT(nvtxDomainRangePushEx(one, &a), 0); /* too late, but harmless */
    EXPECT(nvtxDomainRangePop(one), 0);
}

static void *end_range(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void other_thread(void)
{
    pthread_t thread;
    nvtxRangeId_t first = nvtxRangeStartA("ends elsewhere"),
                  second = nvtxRangeStartW(L"wide start");
    nvtxEventAttributes_t a = plain("start with attributes");
    nvtxRangeId_t third = nvtxRangeStartEx(&a);

    EXPECT(first && second && third && first != second && second != third, 1);
    nvtxRangeEnd(second);
    if (pthread_create(&thread, NULL, end_range, &first))
        abort();
    pthread_join(thread, NULL);
    nvtxRangeEnd(third);
    nvtxRangeEnd(0);
}

static void on_signal(int number)
{
    (void)number;
    nvtxRangePushA("in a handler");
    nvtxRangePop();
}

static void in_handler(void)
{
    signal(SIGUSR1, on_signal);
    nvtxRangePushA("interrupted");
    raise(SIGUSR1);
    nvtxRangePop();
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    nested();
    odd_names();
    attributes();
    domains();
    other_thread();
    in_handler();
    if (!failures)
        puts("all answers right");
    return failures != 0;
}
