import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.TreeMap;

/**
 * Prints what a program can see of itself: members, serial versions, stack traces, messages, environment,
 * initialisation order. A watched JVM must print the same as a plain one.
 */
public final class Visible {
    private static final StringBuilder ORDER = new StringBuilder();

    static class Parent implements Serializable {
        static int made = note("Parent");
        int number = 3;
        transient String text;
        long[] values = {1, 2};

        int divide(int by) {
            return number / by;
        }
    }

    static class Child extends Parent {
        static int made = note("Child");
        String name = "child";

        int length() {
            return text.length();
        }
    }

    interface Defaults {
        Object SHARED = notice("Defaults");

        default int one() {
            return 1;
        }
    }

    static class Unlucky {
        static int value = fail();

        private static int fail() {
            throw new IllegalStateException("initializer");
        }
    }

    static class Base {
        static int value = note("Base");
    }

    static class Derived extends Base {
        static int own = note("Derived");
    }

    static class Thrower {
        static int value;

        static {
            for (StackTraceElement element : new Throwable().getStackTrace()) {
                System.out.println("  in an initializer: " + element.toString().replaceAll("\\$\\$Lambda.*", "lambda"));
            }
        }
    }

    /** What a class of another loader does to classes of that loader. */
    public static final class Elsewhere implements java.util.concurrent.Callable<String> {
        @Override
        public String call() {
            Derived.value = 5;
            String before = "wrote " + ORDER;
            return before + "; read " + (Derived.value + Derived.own) + " " + ORDER;
        }
    }

    private static String elsewhere() throws Exception {
        java.net.URL here = Visible.class.getProtectionDomain().getCodeSource().getLocation();
        try (java.net.URLClassLoader loader = new java.net.URLClassLoader(new java.net.URL[] {here}, null)) {
            Object made = loader.loadClass(Elsewhere.class.getName()).getDeclaredConstructor().newInstance();
            return (String) ((java.util.concurrent.Callable<?>) made).call();
        }
    }

    private static int note(String name) {
        ORDER.append(name).append(' ');
        return ORDER.length();
    }

    private static Object notice(String name) {
        note(name);
        return name;
    }

    private static int deep(int depth) {
        return depth == 0 ? new int[2][3][1].length : 1 + deep(depth - 1);
    }

    public static void main(String[] arguments) throws Exception {
        Class<?>[] classes = {Parent.class, Child.class, String.class, HashMap.class, ArrayList.class, Thread.class};
        for (Class<?> type : classes) {
            System.out.println(type.getName() + " fields " + type.getDeclaredFields().length + " methods "
                    + type.getDeclaredMethods().length + " constructors " + type.getDeclaredConstructors().length
                    + " nested " + type.getDeclaredClasses().length + " modifiers " + type.getModifiers());
        }
        System.out.println("serial " + ObjectStreamClass.lookup(Parent.class).getSerialVersionUID() + " "
                + ObjectStreamClass.lookup(Child.class).getSerialVersionUID());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(new Child());
        System.out.println("serialized " + bytes.size() + " bytes");
        trace(() -> new Parent().divide(0));
        trace(() -> new Child().length());
        trace(() -> System.out.println(Unlucky.value));
        trace(() -> Unlucky.value = 1);
        trace(() -> System.out.println(deep(5)));
        trace(() -> System.arraycopy(new int[1], 0, new int[1], 0, 2));
        trace(() -> System.arraycopy(null, 0, new int[1], 0, 2));
        trace(() -> ((Object[]) new String[1])[0] = 1);
        trace(() -> new ArrayList<>(0).get(1));
        trace(() -> {
            Object lock = null;
            synchronized (lock) {
                note("never");
            }
        });
        Derived.value = 4;
        Thrower.value = 1;
        System.out.println("elsewhere " + elsewhere());
        System.out.println("one " + new Defaults() {}.one());
        System.out.println("order " + ORDER);
        TreeMap<String, String> environment = new TreeMap<>(System.getenv());
        environment.keySet().removeIf(name -> !name.startsWith("LD_") && !name.startsWith("UNTETHER"));
        System.out.println("environment " + environment);
        System.out.println("class path " + System.getProperty("java.class.path"));
        System.out.println("threads " + Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().toLowerCase().contains("untether")).count());
        System.out.println("agents in sight " + ManagementFactory.getRuntimeMXBean().getSystemProperties().keySet()
                .stream().filter(key -> key.contains("untether")).count());
    }

    private interface Action {
        void run() throws Exception;
    }

    private static void trace(Action action) {
        try {
            action.run();
        } catch (Throwable thrown) {
            for (Throwable at = thrown; at != null; at = at.getCause()) {
                System.out.println(at);
                for (StackTraceElement element : at.getStackTrace()) {
                    // The number in a lambda's class differs between runs.
                    System.out.println("  " + element.toString().replaceAll("\\$\\$Lambda.*", "lambda"));
                }
            }
        }
    }
}
