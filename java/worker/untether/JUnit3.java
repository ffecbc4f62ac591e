package untether;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
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
            suiteType.getMethod("addTest", testType).invoke(suite, createTest.invoke(null, type, method));
        }
        Object result = resultType.getConstructor().newInstance();
        Object listener = Proxy.newProxyInstance(loader, new Class<?>[] {listenerType}, this::event);
        resultType.getMethod("addListener", listenerType).invoke(result, listener);
        suiteType.getMethod("run", resultType).invoke(suite, result);
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
