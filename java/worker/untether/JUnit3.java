package untether;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.Enumeration;
import java.util.List;

/** Class runs of JUnit 3, whose runners cannot change the order of a class's tests; and whole classes, where no later JUnit is. */
final class JUnit3 implements Runner {
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

    @Override
    public void run(Class<?> type, List<String> lines) throws Throwable {
        List<String> methods = Worker.methods(lines);
        Class<?> testType = Class.forName("junit.framework.Test", true, loader);
        Class<?> suiteType = Class.forName("junit.framework.TestSuite", true, loader);
        Class<?> resultType = Class.forName("junit.framework.TestResult", true, loader);
        Class<?> listenerType = Class.forName("junit.framework.TestListener", true, loader);
        Object suite = suiteType.getConstructor(String.class).newInstance(type.getName());
        Method add = suiteType.getMethod("addTest", testType);
        if (methods.isEmpty()) {
            try {
                add.invoke(suite, whole(type, suiteType));
            } catch (InvocationTargetException thrown) {
                results.failed(type.getName(), Results.FAILED, thrown.getCause());
                return;
            }
        } else if (isForAnybody(type, suiteType)) {
            Method createTest = suiteType.getMethod("createTest", Class.class, String.class);
            for (String method : methods) {
                add.invoke(suite, createTest.invoke(null, type, method));
            }
        } else {
            List<Object> made;
            try {
                made = madeBySuite(type, suiteType);
            } catch (InvocationTargetException thrown) {
                results.failed(type.getName(), Results.FAILED, thrown.getCause());
                return;
            }
            for (String method : methods) {
                boolean isMade = false;
                for (Object test : made) {
                    if (JUnit4.withoutIndex(nameOf(test)).equals(method)) {
                        add.invoke(suite, test);
                        isMade = true;
                    }
                }
                if (!isMade) {
                    results.failed(type.getName() + "#" + method, Results.MISSING,
                            new NoSuchMethodException("only the suite() of another class makes this test"));
                }
            }
        }
        Object result = resultType.getConstructor().newInstance();
        Object listener = Proxy.newProxyInstance(loader, new Class<?>[] {listenerType}, this::event);
        resultType.getMethod("addListener", listenerType).invoke(result, listener);
        suiteType.getMethod("run", resultType).invoke(suite, result);
    }

    /** All tests of a class, or those that its {@code suite()} makes, be they its own or not. */
    private static Object whole(Class<?> type, Class<?> suiteType) throws ReflectiveOperationException {
        try {
            return type.getMethod("suite").invoke(null);
        } catch (NoSuchMethodException none) {
            return suiteType.getConstructor(Class.class).newInstance(type);
        }
    }

    /** Whether the class has a constructor that JUnit itself would call. */
    private static boolean isForAnybody(Class<?> type, Class<?> suiteType) throws ReflectiveOperationException {
        try {
            suiteType.getMethod("getTestConstructor", Class.class).invoke(null, type);
            return Modifier.isPublic(type.getModifiers());
        } catch (InvocationTargetException thrown) {
            return false;
        }
    }

    /** The tests of the class that its own {@code suite()} makes. */
    private List<Object> madeBySuite(Class<?> type, Class<?> suiteType) throws ReflectiveOperationException {
        Class<?> decoratorType = Worker.find("junit.extensions.TestDecorator", loader);
        List<Object> made = new ArrayList<>();
        Deque<Object> left = new ArrayDeque<>();
        try {
            Method suite = type.getMethod("suite");
            if (Modifier.isStatic(suite.getModifiers()) && Modifier.isPublic(type.getModifiers())) {
                Object whole = suite.invoke(null);
                if (whole != null) {
                    left.add(whole);
                }
            }
        } catch (NoSuchMethodException none) {
            return made;
        }
        while (!left.isEmpty()) {
            Object test = left.remove();
            if (suiteType.isInstance(test)) {
                List<?> inside = Collections.list((Enumeration<?>) suiteType.getMethod("tests").invoke(test));
                for (int last = inside.size() - 1; last >= 0; last--) {
                    left.addFirst(inside.get(last));
                }
            } else if (decoratorType != null && decoratorType.isInstance(test)) {
                left.addFirst(decoratorType.getMethod("getTest").invoke(test));
            } else if (test.getClass() == type) {
                made.add(test);
            }
        }
        return made;
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
                results.failed(idOf(arguments[0]), Results.FAILED, (Throwable) arguments[1]);
                return null;
            default:
                return Platform.objectMethod(proxy, method, arguments);
        }
    }

    private static String idOf(Object test) throws ReflectiveOperationException {
        return test.getClass().getName() + "#" + nameOf(test);
    }

    private static String nameOf(Object test) throws ReflectiveOperationException {
        return String.valueOf(test.getClass().getMethod("getName").invoke(test));
    }
}
