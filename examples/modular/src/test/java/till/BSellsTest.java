package till;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class BSellsTest {
    @Test
    void isPartOfTheModule() {
        assertEquals("till", getClass().getModule().getName());
    }

    /** Needs the till that the other class opened. */
    @Test
    void sellsFromTheOpenTill() {
        assertEquals("sold milk", Till.sell("milk"));
    }
}
