package untether;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.Enumeration;
import java.util.List;

/** Class runs of JUnit 3, whose runners cannot change the order of a class's tests. */
final class JUnit3 {
    private final ClassLoader loader;
    private final Results results;

    JUnit3(ClassLoader loader, Results results) {
        this.loader = loader;
        this.results = results;
    }

    static boolean isTestClass(Class<?> type, ClassLoader loader) {
        Class<?> testCase = Worker.find("junit.framework.TestCase", loader);
        return testCase != null && testCase.isAssignableFrom(type)
                && !JUnit4.isAnnotated(type, "org.junit.runner.RunWith");
    }

    void run(Class<?> type, List<String> methods) throws Throwable {
        Class<?> testType = Class.forName("junit.framework.Test", true, loader);
        Class<?> suiteType = Class.forName("junit.framework.TestSuite", true, loader);
        Class<?> resultType = Class.forName("junit.framework.TestResult", true, loader);
        Class<?> listenerType = Class.forName("junit.framework.TestListener", true, loader);
        Object suite = suiteType.getConstructor(String.class).newInstance(type.getName());
        Method createTest = suiteType.getMethod("createTest", Class.class, String.class);
        for (String method : methods) {
            Object test = createTest.invoke(null, type, method);
            if (!type.isInstance(test)) {
                // A warning: its constructors are not for us.
                test = madeBySuite(type, method);
            }
            if (test == null) {
                results.failed(type.getName() + "#" + method, "missing",
                        new NoSuchMethodException("only a suite() method of another class makes this test"));
            } else {
                suiteType.getMethod("addTest", testType).invoke(suite, test);
            }
        }
        Object result = resultType.getConstructor().newInstance();
        Object listener = Proxy.newProxyInstance(loader, new Class<?>[] {listenerType}, this::event);
        resultType.getMethod("addListener", listenerType).invoke(result, listener);
        suiteType.getMethod("run", resultType).invoke(suite, result);
    }

    /** The test as the class's own {@code suite()} makes it; null where there is none. */
    private Object madeBySuite(Class<?> type, String method) throws ReflectiveOperationException {
        Class<?> suiteType = Class.forName("junit.framework.TestSuite", true, loader);
        Deque<Object> left = new ArrayDeque<>();
        try {
            left.add(type.getMethod("suite").invoke(null));
        } catch (NoSuchMethodException | NullPointerException none) {
            return null;
        }
        while (!left.isEmpty()) {
            Object test = left.remove();
            if (suiteType.isInstance(test)) {
                left.addAll(Collections.list((Enumeration<?>) suiteType.getMethod("tests").invoke(test)));
            } else if (test.getClass() == type && idOf(test).equals(type.getName() + "#" + method)) {
                return test;
            }
        }
        return null;
    }

    private Object event(Object proxy, Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "startTest":
                results.started(idOf(arguments[0]));
                return null;
            case "endTest":
                results.finished(idOf(arguments[0]));
                return null;
            case "addError":
            case "addFailure":
                results.failed(idOf(arguments[0]), "failed", (Throwable) arguments[1]);
                return null;
            default:
                return Platform.objectMethod(proxy, method, arguments);
        }
    }

    private static String idOf(Object test) throws ReflectiveOperationException {
        return test.getClass().getName() + "#" + test.getClass().getMethod("getName").invoke(test);
    }
}
