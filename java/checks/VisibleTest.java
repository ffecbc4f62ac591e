import org.junit.jupiter.api.Test;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** {@link Visible} as a test among others, so that accesses are recorded while it looks; started without a build tool. */
public final class VisibleTest {
    static int shared;

    @Test
    void looks() throws Exception {
        shared++;
        Visible.main(new String[0]);
    }

    public static void main(String[] arguments) {
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(VisibleTest.class))
                .build());
    }
}
