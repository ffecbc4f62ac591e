package legacy;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class FirstVisitTest {
    @Test
    public void countsTheFirstVisit() {
        assertEquals(1, Visits.next());
    }
}
