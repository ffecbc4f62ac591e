package untether;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Tells what becomes of each test, one line at a time, so that a JVM which dies leaves what it did.
 *
 * <p>Lines are fields separated by tabs: {@code C class lines} a class run of so many lines of the plan begins,
 * {@code S id} a test starts, {@code T id status nanos message} it ended, {@code E class} the class run ended,
 * {@code D} all is done, {@code F field} a field that tests have changed, {@code G} no more of them, {@code P} the plan is
 * over and another is waited for, {@code X reason}
 * the JVM cannot be put back to how it was and runs no more. Status is {@code passed}, {@code failed}, {@code aborted}, {@code skipped} or
 * {@code missing}. The id of what happened outside of any test is its class.
 */
final class Results {
    private static final int LONGEST_MESSAGE = 4000;

    private final OutputStream out;
    private String open;
    private String status;
    private String message;
    private long openedAt;
    int ran;
    int failed;

    Results(String file) throws IOException {
        out = file == null ? null : new FileOutputStream(file, true);
    }

    void classStarted(String name, int lines) {
        line("C", name, Integer.toString(lines));
    }

    void classEnded(String name) {
        line("E", name);
    }

    void told(String fields) {
        for (String field : fields.split("\n")) {
            if (!field.isEmpty()) {
                line("F", field);
            }
        }
        line("G");
    }

    void notRestorable(String reason) {
        line("X", reason);
    }

    void planEnded() {
        line("P");
    }

    void done() {
        line("D");
    }

    void started(String id) {
        open = id;
        status = "passed";
        message = "";
        openedAt = System.nanoTime();
        line("S", id);
    }

    /** What happened to the test that is open, or to a class as a whole. */
    void failed(String id, String how, Throwable thrown) {
        String text = thrown == null ? "" : String.valueOf(thrown);
        if (id.equals(open)) {
            if (!status.equals("failed")) {
                status = how;
                message = text;
            }
            return;
        }
        if (how.equals("failed") || how.equals("missing") && thrown != null) {
            failed++;
        }
        line("T", id, how, "0", text);
    }

    /** A test that was asked for and is not there. */
    void missing(String id, String reason) {
        line("T", id, "missing", "0", reason);
    }

    void finished(String id) {
        if (!id.equals(open)) {
            return;
        }
        ran++;
        failed += status.equals("failed") ? 1 : 0;
        long nanos = System.nanoTime() - openedAt;
        open = null;
        line("T", id, status, Long.toString(nanos), message);
    }

    void skipped(String id, String reason) {
        ran++;
        line("T", id, "skipped", "0", reason);
    }

    private synchronized void line(String... fields) {
        if (out == null) {
            return;
        }
        StringBuilder text = new StringBuilder();
        for (String field : fields) {
            if (text.length() > 0) {
                text.append('\t');
            }
            int end = Math.min(field.length(), LONGEST_MESSAGE);
            for (int i = 0; i < end; i++) {
                char c = field.charAt(i);
                switch (c) {
                    case '\\':
                        text.append("\\\\");
                        break;
                    case '\t':
                        text.append("\\t");
                        break;
                    case '\n':
                        text.append("\\n");
                        break;
                    case '\r':
                        text.append("\\r");
                        break;
                    default:
                        text.append(c);
                }
            }
        }
        try {
            out.write(text.append('\n').toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException lost) {
            throw new java.io.UncheckedIOException(lost);
        }
    }
}
