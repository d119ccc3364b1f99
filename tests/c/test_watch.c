/* A launch that is watched, call by call: more lines than are told apart, more reports than are kept,
 * barriers, indices, the end of numbers. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/opts.h"
#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/watch.h"

static tr_frame *begin(tr_frame *f, int64_t threads) {
    tr_rt_frame_init(f, NULL);
    tr_rt_watch_begin(f, TR_WATCH_RACE | TR_WATCH_UNINIT | TR_WATCH_BARRIER, 2, 3, 1, threads, 1, 1,
                      "1|k|f.py");
    return f;
}

static tr_watch_state end(tr_frame *f, int64_t found) {
    tr_watch_state s;
    int64_t n = tr_rt_watch_end(f);
    assert(n == found);
    assert(tr_rt_watch_state(f, &s) && s.ended && s.n == n && !strcmp(s.kernel, "1|k|f.py"));
    return s;
}

static void test_lines(void) {
    enum { N = 5000 };
    static char text[N][24];
    static double a[N];
    tr_frame f;
    begin(&f, 2);
    tr_rt_watch_axis(&f, N, 1);
    tr_rt_watch_array(&f, NULL, a, TR_WATCHED_GIVEN, 8, "a");
    for (int64_t t = 0; t < 2; t++) {
        tr_rt_watch_at(&f, 0, t);
        for (int k = 0; k < N; k++) {
            snprintf(text[k], sizeof text[k], "%d|0|a|k|f.py", k);
            tr_rt_watch_touch(&f, NULL, &a[k], TR_TOUCH_WRITE, 8, text[k]);
        }
    }
    tr_watch_state s = end(&f, 50);
    assert(s.more == N - 50);
    assert(s.reports[49].index[0] == 49 && s.reports[49].size[0] == N &&
           !strcmp(s.reports[49].of[0].site, text[49]));
    assert(s.reports[0].times == 1 && s.reports[0].of[1].thread[0] == 1);
    tr_rt_frame_fini(&f);

    begin(&f, 2); /* of lines past the last number nothing is known but that they are */
    for (int64_t t = 0; t < 2; t++) {
        tr_rt_watch_at(&f, 5, t);
        for (int k = 0; k < N; k++)
            tr_rt_watch_touch(&f, NULL, k < N - 1 && t ? &a[0] : &a[k],
                              k < N - 1 ? TR_TOUCH_READ : TR_TOUCH_WRITE, 8, text[k]);
    }
    s = end(&f, 1);
    assert(s.reports[0].kind == TR_MISTAKE_RACE && !s.reports[0].array[0] && !s.reports[0].of[1].site[0]);
    assert(s.reports[0].of[1].block[0] == 1 && s.reports[0].of[1].block[1] == 2);
    tr_rt_frame_fini(&f);
}

static void test_barriers(void) {
    tr_frame f;
    begin(&f, 40);
    for (int64_t t = 0; t < 40; t++) {
        tr_rt_watch_at(&f, 3, t);
        tr_rt_watch_barrier(&f, "4|0||k|f.py");
        tr_rt_watch_barrier(&f, t == 35 ? "6|0||k|f.py" : "5|0||k|f.py");
    }
    tr_watch_state s = end(&f, 1);
    assert(s.reports[0].kind == TR_MISTAKE_BARRIER && s.reports[0].of[0].site[0] == '5');
    assert(s.reports[0].of[1].thread[0] == 35 && s.reports[0].of[1].block[0] == 1);
    tr_rt_frame_fini(&f);
}

static int x[64];

static void touch(tr_frame *f, int64_t t, int at, int how) {
    tr_rt_watch_at(f, 0, t);
    tr_rt_watch_touch(f, NULL, &x[at], how, 4, how == TR_TOUCH_READ ? "8|0|x|k|f.py" : "7|0|x|k|f.py");
}

/* Lanes that meet: those of the mask, in both ways that the calls may come: each thread up
 * to where it waits. */
static void meet(tr_frame *f, uint32_t mask) {
    for (int64_t t = 0; t < 32; t++)
        if (mask >> t & 1) {
            tr_rt_watch_at(f, 0, t);
            tr_rt_watch_warp(f, mask);
        }
}

/* Two warps are a race however often each of them meets, and lanes that meet are none, however often. */
static void test_often(void) {
    tr_frame f;
    for (int t = 1; t < 64; t += 62) {
        begin(&f, 64);
        for (int k = 0; k < 10000; k++) {
            meet(&f, UINT32_MAX);
            touch(&f, 0, 0, TR_TOUCH_WRITE);
            meet(&f, UINT32_MAX);
            if (t < 32 || k == 9999)
                touch(&f, t, 0, TR_TOUCH_WRITE);
        }
        end(&f, t < 32 ? 0 : 1);
        tr_rt_frame_fini(&f);
        assert(f.nalloc == f.nfree);
    }
    begin(&f, 64); /* the last of many is missed by one lane */
    for (int k = 0; k < 10000; k++)
        meet(&f, UINT32_MAX);
    touch(&f, 0, 0, TR_TOUCH_WRITE);
    meet(&f, ~UINT32_C(2));
    touch(&f, 1, 0, TR_TOUCH_READ);
    end(&f, 1);
    tr_rt_frame_fini(&f);
}

/* Who was not there is ordered with nobody who was; what was known before is handed on. */
static void test_parts(void) {
    tr_frame f;
    const struct {
        uint32_t first, second;
        int writer, reader, found;
    } rows[] = {
        {0xffff, 0, 20, 3, 1},          /* a half meets, and the other half wrote */
        {0xffff, 0xffff0000, 20, 3, 1}, /* each half */
        {0xffff, UINT32_MAX, 20, 3, 0},
        {0xffff, 0xffff, 3, 4, 0},
        {3, 6, 0, 2, 0}, /* by one that was at both */
        {6, 3, 0, 2, 1}, /* the other way round */
        {1, 1, 0, 1, 1},
        {3, 0, 0, 1, 0},
        {0, 3, 0, 1, 0},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        begin(&f, 32);
        touch(&f, rows[k].writer, 0, TR_TOUCH_WRITE);
        meet(&f, rows[k].first);
        meet(&f, rows[k].second);
        touch(&f, rows[k].reader, 0, TR_TOUCH_READ);
        end(&f, rows[k].found);
        tr_rt_frame_fini(&f);
    }
    begin(&f, 32); /* all meet, a half meets and writes, all meet and read */
    meet(&f, UINT32_MAX);
    meet(&f, 0xffff);
    for (int t = 0; t < 16; t++)
        touch(&f, t, t, TR_TOUCH_WRITE);
    meet(&f, UINT32_MAX);
    for (int t = 0; t < 32; t++)
        touch(&f, t, t % 16, TR_TOUCH_READ);
    end(&f, 0);
    tr_rt_frame_fini(&f);
    begin(&f, 32); /* a lane that its own mask does not name meets nobody */
    touch(&f, 0, 0, TR_TOUCH_WRITE);
    meet(&f, 1);
    tr_rt_watch_at(&f, 0, 1);
    tr_rt_watch_warp(&f, 1);
    touch(&f, 1, 0, TR_TOUCH_READ);
    end(&f, 1);
    tr_rt_frame_fini(&f);
}

/* Nothing is kept of a launch that cannot be watched to its end but that. */
static void test_lost(void) {
    tr_frame f;
    int y;
    begin(&f, 1025);
    tr_rt_watch_at(&f, 0, 1024);
    tr_rt_watch_touch(&f, NULL, &y, TR_TOUCH_WRITE, 4, "7|0|x|k|f.py");
    tr_rt_watch_barrier(&f, "7|0||k|f.py");
    assert(end(&f, 1).reports[0].kind == TR_MISTAKE_LOST);
    tr_rt_frame_fini(&f);
    tr_rt_frame_init(&f, NULL); /* without a launch nothing is done, and the end says so */
    tr_rt_watch_at(&f, 0, 0);
    tr_rt_watch_touch(&f, NULL, &y, TR_TOUCH_WRITE, 4, "7|0|x|k|f.py");
    tr_rt_watch_warp(&f, -1);
    tr_rt_watch_barrier(&f, "7|0||k|f.py");
    assert(tr_rt_watch_end(&f) == -1);
    tr_rt_frame_fini(&f);
}

int main(void) {
    test_lines();
    test_barriers();
    test_often();
    test_parts();
    test_lost();
    return 0;
}
