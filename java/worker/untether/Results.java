package untether;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Tells what becomes of each test, one frame at a time, so that a JVM which dies leaves what it did. The frames, in
 * {@code Frames}, are made from the crate untether-wire, which reads them.
 */
final class Results {
    private static final int LONGEST_MESSAGE = 4000;

    private static final int PASSED = Frames.END_STATUS_PASSED;
    static final int FAILED = Frames.END_STATUS_FAILED;
    static final int ABORTED = Frames.END_STATUS_ABORTED;
    static final int SKIPPED = Frames.END_STATUS_SKIPPED;
    static final int MISSING = Frames.END_STATUS_MISSING;

    private static OutputStream out;
    private static final ReentrantLock WRITING = new ReentrantLock();
    /** Has room for two of the longest messages. */
    private static final byte[] frame = new byte[1 << 16];
    private static int length;

    private String open;
    private int status;
    private String message;
    private long openedAt;
    int ran;
    int failed;

    Results(String file) throws IOException {
        if (file != null) {
            out = new FileOutputStream(file, true);
            out.write(Frames.HEADER);
        }
    }

    void classStarted(String name, int lines) {
        Frames.classStarted(name, lines);
    }

    void classEnded(String name) {
        Frames.classEnded(name);
    }

    void told(String fields) {
        for (String field : fields.split("\n")) {
            if (!field.isEmpty()) {
                Frames.field(field);
            }
        }
        Frames.fieldsEnded();
    }

    void notRestorable(String reason) {
        Frames.notRestorable(reason);
    }

    void planEnded() {
        Frames.planEnded();
    }

    void done() {
        Frames.done();
    }

    void started(String id) {
        open = id;
        status = PASSED;
        message = "";
        openedAt = System.nanoTime();
        Frames.started(id);
    }

    /** What happened to the test that is open, or to a class as a whole. */
    void failed(String id, int how, Throwable thrown) {
        String text = thrown == null ? "" : String.valueOf(thrown);
        if (id.equals(open)) {
            if (status != FAILED) {
                status = how;
                message = text;
            }
            return;
        }
        if (how == FAILED || how == MISSING && thrown != null) {
            failed++;
        }
        Frames.ended(id, how, 0, text);
    }

    /** A test that was asked for and is not there. */
    void missing(String id, String reason) {
        Frames.ended(id, MISSING, 0, reason);
    }

    void finished(String id) {
        if (!id.equals(open)) {
            return;
        }
        ran++;
        failed += status == FAILED ? 1 : 0;
        long nanos = System.nanoTime() - openedAt;
        open = null;
        Frames.ended(id, status, nanos, message);
    }

    void skipped(String id, String reason) {
        ran++;
        Frames.ended(id, SKIPPED, 0, reason);
    }

    // ---- what frames are made of; tests of one class may run in several threads

    static void begin(int tag) {
        WRITING.lock();
        length = 4;
        put(tag);
    }

    static void end() {
        try {
            for (int i = 0; i < 4; i++) {
                frame[i] = (byte) (length - 4 >>> (8 * i));
            }
            if (out != null) {
                out.write(frame, 0, length);
            }
        } catch (IOException lost) {
            // Half a frame may be there: nothing after it would make sense.
            out = null;
            throw new java.io.UncheckedIOException(lost);
        } finally {
            WRITING.unlock();
        }
    }

    static void integer(long value) {
        while ((value & ~0x7fL) != 0) {
            put((int) value | 0x80);
            value >>>= 7;
        }
        put((int) value);
    }

    static void string(String text) {
        int units = text == null ? 0 : Math.min(text.length(), LONGEST_MESSAGE);
        integer(units);
        for (int i = 0; i < units; i++) {
            integer(text.charAt(i));
        }
    }

    private static void put(int value) {
        frame[length++] = (byte) value;
    }
}
