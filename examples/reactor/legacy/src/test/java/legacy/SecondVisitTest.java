package legacy;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class SecondVisitTest {
    /** Fails alone: depends on FirstVisitTest#countsTheFirstVisit through Visits.count. */
    @Test
    public void countsTheSecondVisit() {
        assertEquals(2, Visits.next());
    }

    @Test
    public void dependsOnNothing() {
        assertEquals("visits", "Visits".toLowerCase(java.util.Locale.ROOT));
    }
}
